"""HL7 v2 MLLP intake gateway: takes each message durably, answers, and drives it in order to a server."""

__version__ = "0.1.0"
