"""`python -m refute`: the same as the command `refute`."""

from refute.cli.app import main

main()
