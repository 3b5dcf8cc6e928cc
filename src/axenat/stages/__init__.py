"""One short file per subcommand: read files, call functions, write files."""
