"""Brings a store to this program's schema, on purpose and without starting anything."""

from gateway.app.desk import Unwatched
from gateway.app.storage import database, opened
from gateway.config.settings import Settings
from gateway.errors import StoreRefused
from gateway.store.sqlite.version import schema_version


async def migrate(settings: Settings) -> tuple[int, int]:
    """Give the schema version before and after. Raises StoreRefused when there is no store or it is newer."""
    file = database(settings)
    if not file.exists():
        raise StoreRefused(path=str(file), reason="there is no store yet; start the gateway once")
    before = schema_version(file)
    async with opened(settings, observer=Unwatched(), role="desk", migrate=True):
        return before, schema_version(file)
