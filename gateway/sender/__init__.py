"""Sends HL7 files over MLLP and judges every answer."""
