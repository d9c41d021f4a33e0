"""Reading the verdict out of an answer body. Fast, for the settle path; never raises, whatever the server sent."""

from collections.abc import Iterator

from gateway.model.upstream import Msa

_SKIPPED = "\ufeff\r\n "


def is_hl7(body: str) -> bool:
    """Tell whether a body begins like an HL7 message (after BOM, CR, LF or spaces)."""
    return body.startswith("MSH") or body.lstrip(_SKIPPED).startswith("MSH")


def read_msa(body: str) -> Msa | None:
    """Read MSA-1, MSA-2 and every ERR code of an answer body; None when there is no readable MSA.

    An MSA without an MSH before it is read too, by the separator behind its name: it is evidence all the same.
    """
    text = body.lstrip(_SKIPPED)
    separator = text[3:4]
    if not separator or separator.isalnum() or separator in "\r\n ":
        return None
    if text.startswith("MSH"):
        delimiters = text[4 : _end(text, 0)].partition(separator)[0]
        at = _next(text, "MSA" + separator, 4)
    else:
        delimiters, at = "^~\\&", 0 if text.startswith("MSA") else -1
    if at < 0 or not delimiters:
        return None
    fields = text[at : _end(text, at)].split(separator, 3)
    return Msa(
        code=fields[1].strip(),
        control_id=fields[2] if len(fields) > 2 else "",
        errors=tuple(_errors(text, separator, delimiters, at)),
    )


def _errors(text: str, separator: str, delimiters: str, at: int) -> Iterator[str]:
    """Give the codes of ERR-3 (from 2.5) and ERR-1 (before), each repetition."""
    component, repetition, part = delimiters[0], delimiters[1:2], delimiters[3:4]
    at = _next(text, "ERR" + separator, at)
    while at >= 0:
        fields = text[at : _end(text, at)].split(separator, 4)
        for one in _pieces(fields[3] if len(fields) > 3 else "", repetition):
            yield from filter(None, [one.partition(component)[0].strip()])
        for one in _pieces(fields[1], repetition):
            code = [*one.split(component), "", "", "", ""][3]
            yield from filter(None, [_pieces(code, part)[0].strip()])
        at = _next(text, "ERR" + separator, at)


def _pieces(value: str, separator: str) -> list[str]:
    return value.split(separator) if separator else [value]


def _next(text: str, begin: str, at: int) -> int:
    """Find the next segment that begins so, behind the one at `at`; -1 when there is none.

    Not by str.splitlines, which also splits at characters that are content.
    """
    found = text.find(begin, at + 1)
    while found >= 0 and text[found - 1] not in "\r\n":
        found = text.find(begin, found + 1)
    return found


def _end(text: str, at: int) -> int:
    cr = text.find("\r", at)
    end = cr if cr >= 0 else len(text)
    lf = text.find("\n", at, end)
    return lf if lf >= 0 else end
