"""What all commands have in common: words, options, output, clients, failures."""
