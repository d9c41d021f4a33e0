"""`python -m gateway` is `hl7-gateway`."""

from gateway.cli.main import main

if __name__ == "__main__":
    main()
