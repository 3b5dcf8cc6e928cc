"""What is known of languages without importing the tools that know it: the workflow reads this."""

# Those of the Moses tokeniser; Chinese is left to jieba.
LANGUAGES = (
    "as", "bn", "ca", "cs", "de", "el", "en", "es", "et", "fi", "fr", "ga", "gu", "hi", "hu", "is", "it", "kn", "lt",
    "lv", "ml", "mni", "mr", "nl", "or", "pa", "pl", "pt", "ro", "ru", "sk", "sl", "sv", "ta", "tdt", "te", "yue", "zh",
)  # fmt: skip

CHINESE = ("zh", "yue")


def bleu_tokeniser(language: str) -> str:
    """As sacrebleu names it: Chinese by characters, as in the paper's signature, everything else as at WMT."""
    return "zh" if language in CHINESE else "13a"
