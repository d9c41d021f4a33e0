"""The Protocols each room declares it needs. No implementation lives here."""
