"""Misbehaves on purpose towards any MLLP receiver, with synthetic messages only, and judges what it does."""
