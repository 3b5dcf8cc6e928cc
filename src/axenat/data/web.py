"""Questions to web servers: redirects that stay safe, and refusals in words, the lasting apart from the passing."""

import random
import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from urllib.parse import urljoin, urlsplit

import requests
from requests.exceptions import ChunkedEncodingError, ProxyError, RequestException
from urllib3.exceptions import HTTPError, NameResolutionError, ReadTimeoutError

MOST_REDIRECTS = 10
PIECE = 1 << 18


class AddressError(Exception):
    """Why an address will not give its file; another one may."""


class BreakError(Exception):
    """Why it did not this time; worth another attempt, perhaps after as many seconds as the server asks for."""

    def __init__(self, why: str, wait: float | None = None) -> None:
        super().__init__(why)
        self.wait = wait


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """How often to try, and how many seconds to wait."""

    attempts: int = 5  # in a row without a new byte
    first_wait: float = 1.0
    longest_wait: float = 60.0
    connect: float = 20.0
    read: float = 60.0  # between two pieces of the body

    def wait(self, failures: int, asked: float | None) -> float:
        """Twice as long each time; by chance a little less, so that many who were cut off do not return at once."""
        if asked is not None:
            return min(asked, self.longest_wait)
        return min(self.longest_wait, self.first_wait * 2.0 ** (failures - 1)) * random.uniform(0.5, 1.0)


class Session(requests.Session):
    """Knows no redirects: even if told not to follow one, requests reads its whole body and parses its address."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        return None


def ask(session: Session, address: str, headers: dict[str, str], patience: Patience) -> requests.Response:
    """The answer (200, 206 or 416) after all redirects, which never lead from https to http; its body is not read."""
    for _ in range(MOST_REDIRECTS):
        response = _answer(session, address, headers, patience)
        if not response.is_redirect:
            _refuse_status(response)
            return response
        response.close()
        address = _following(address, response.headers["Location"])
    raise AddressError(f"redirects more than {MOST_REDIRECTS} times")


def _following(address: str, location: str) -> str:
    """Where a redirect leads; headers arrive as Latin-1 and mean UTF-8."""
    allowed = ("https",) if urlsplit(address).scheme == "https" else ("http", "https")
    location = " ".join(location.split())  # a header may have several lines
    try:
        following = urljoin(address, location.encode("latin-1").decode("utf-8"))
        scheme = urlsplit(following).scheme
    except ValueError:
        raise AddressError(f"redirects to {location[:100]!r}, which is no address") from None
    if scheme not in allowed:
        raise AddressError(f"redirects to {following}, and only {' and '.join(allowed)} may follow")
    return following


def pieces(response: requests.Response, patience: Patience) -> Iterator[bytes]:
    """The body as it lies on the server: a .tgz that the server calls gzip-encoded stays a .tgz."""
    try:
        while piece := response.raw.read1(PIECE, decode_content=False):
            yield piece
    except HTTPError as error:
        raise BreakError(_why(error, patience)) from None


def _answer(session: Session, address: str, headers: dict[str, str], patience: Patience) -> requests.Response:
    try:
        return session.get(
            address, headers=headers, stream=True, allow_redirects=False, timeout=(patience.connect, patience.read)
        )
    except (RequestException, HTTPError, OSError, ValueError) as error:  # OSError: a CA bundle that is not there
        passing = isinstance(error, requests.ConnectionError | requests.Timeout | ChunkedEncodingError)
        if passing and not _causes(error, ssl.SSLCertVerificationError):
            raise BreakError(_why(error, patience)) from None
        raise AddressError(_why(error, patience)) from None


def _refuse_status(response: requests.Response) -> None:
    code = response.status_code
    if code in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT, HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE):
        return
    response.close()
    if code in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS) or code >= 500:
        raise BreakError(status_words(code), wait=_seconds(response.headers.get("Retry-After", "")))
    raise AddressError(status_words(code))


def status_words(code: int) -> str:
    """In our own words for the number: a server's may be anything."""
    known = code in HTTPStatus._value2member_map_
    return f"{code} {HTTPStatus(code).phrase}" if known else f"status {code}"


def whole_number(text: str) -> int | None:
    """Of a header, in plain digits and no more of them than a file can need; anything else is none."""
    return int(text) if re.fullmatch(" *[0-9]{1,18} *", text) else None


def _seconds(retry_after: str) -> float | None:
    """A number of seconds, or a date; anything else is no wish at all."""
    if (seconds := whole_number(retry_after)) is not None:
        return seconds
    try:
        date = parsedate_to_datetime(retry_after)
        now = datetime.now(UTC) if date.tzinfo else datetime.now(UTC).replace(tzinfo=None)
        return max(0.0, (date - now).total_seconds())
    except (ValueError, OverflowError):
        return None


def _why(error: Exception, patience: Patience) -> str:
    """The root of a chain of exceptions, in words."""
    if _causes(error, NameResolutionError):
        return "name resolution failed"
    if isinstance(error, ProxyError):
        return "the proxy gives no connection"
    if isinstance(error, requests.ConnectTimeout):
        return f"no connection within {patience.connect:g} s"
    if isinstance(error, requests.ReadTimeout | ReadTimeoutError):
        return f"silent for {patience.read:g} s"
    for cause in _causes(error, ssl.SSLCertVerificationError):
        return f"certificate not accepted: {getattr(cause, 'verify_message', cause)}"
    for cause in _causes(error, OSError):
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror[0].lower() + cause.strerror[1:]
    broken = isinstance(error, HTTPError | requests.ConnectionError | ChunkedEncodingError)
    if broken and not isinstance(error, ValueError):  # urllib3 has errors that are both, of addresses
        return "the connection broke"
    return " ".join(str(error).split())


def _causes(error: BaseException, *kinds: type[BaseException]) -> list[BaseException]:
    """Those of these kinds in the chain, the root last; requests and urllib3 put some into attributes only."""
    chain: list[BaseException] = []
    waiting: list[object] = [error]
    while waiting:
        cause = waiting.pop(0)
        if isinstance(cause, BaseException) and cause not in chain:
            chain.append(cause)
            waiting += [cause.__cause__, cause.__context__, getattr(cause, "reason", None), *cause.args]
    return [cause for cause in chain if isinstance(cause, kinds)]
