"""The durable store. One contract, one engine a folder."""
