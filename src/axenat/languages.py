"""Languages that the Moses tokeniser knows; it is not asked, since it needs more than the workflow should import."""

LANGUAGES = (
    "as", "bn", "ca", "cs", "de", "el", "en", "es", "et", "fi", "fr", "ga", "gu", "hi", "hu", "is", "it", "kn", "lt",
    "lv", "ml", "mni", "mr", "nl", "or", "pa", "pl", "pt", "ro", "ru", "sk", "sl", "sv", "ta", "tdt", "te", "yue", "zh",
)  # fmt: skip
