"""What the server serves, and how another index takes its place.

In: the settings. Out: `Loaded`, the index with everything built on it, for as long as a request holds it. A new index
is opened beside the old one; requests that hold the old one finish with it, and the last one closes it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from pathlib import Path

from sidecar import __version__, wire
from sidecar.encoder.batcher import MicroBatcher
from sidecar.encoder.tower import documents_of
from sidecar.errors import SidecarError
from sidecar.feedback import FeedbackLog
from sidecar.index.index import Index
from sidecar.index.manifest import ROLES, Manifest, Role, damaged
from sidecar.index.products import load_products
from sidecar.prove.race import ProofRace
from sidecar.search.cross_encoder import CrossEncoderReranker, load_reranker
from sidecar.search.engine import SearchEngine
from sidecar.search.links import DocumentationLinks
from sidecar.search.rewriters import make_rewriter
from sidecar.select.embeddings import PremiseEmbeddings
from sidecar.select.environment import Environments
from sidecar.select.learned import fusion_beside
from sidecar.select.selector import PremiseSelector
from sidecar.server.metrics import Metrics
from sidecar.settings import Settings

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class Loaded:
    """An index and what answers from it.

    Attributes:
        index: The open index.
        batchers: The encoder behind each role; one and the same where one encoder serves both.
        embeddings: Vectors of premises that the index does not know.
        selector: Answers `premises`.
        engine: Answers `search`.
    """

    index: Index
    batchers: dict[Role, MicroBatcher]
    embeddings: PremiseEmbeddings
    selector: PremiseSelector
    engine: SearchEngine
    users: int = 0
    retired: bool = False


def search_device() -> str:
    """Where vectors are searched: on the GPU that encoders choose by themselves, else on the CPU.

    Encoders have been loaded by then: a server whose encoders do without torch does not load it for this.
    CUDA_VISIBLE_DEVICES hides GPUs from both.
    """
    torch = sys.modules.get("torch")
    return "cuda" if torch is not None and torch.cuda.is_available() else "cpu"


class ServerState:
    """Everything that methods need; made once for each server.

    Args:
        settings: Folders and limits.
        index: Index to serve; None to choose one, see `sidecar.server.run.serve`.
        encoder: Encoder that was asked for; None for the index's own.
    """

    def __init__(self, settings: Settings, index: Path | None, encoder: str | None) -> None:
        self.settings = settings
        self.instance = secrets.token_hex(8)
        self.pid = os.getpid()
        self.metrics = Metrics()
        self.race = ProofRace()
        self.environments = Environments(settings.cache_folder)
        self.feedback = FeedbackLog(settings.data_folder, settings.feedback)
        self._rewriter = make_rewriter(settings)
        self._reranker: CrossEncoderReranker | None = None
        self.stage = "starting"
        """What the server is doing: `ready`, or what it loads."""
        self.ready_since: float | None = None
        """When methods could first be answered."""
        self._index = index
        self._encoder = encoder
        self._began = time.monotonic()
        self._loaded: Loaded | None = None
        self._retired: set[Loaded] = set()
        self._changing = asyncio.Lock()
        self._watch()

    @property
    def ready(self) -> bool:
        """Whether methods can be answered."""
        return self._loaded is not None

    @property
    def revision(self) -> str | None:
        """Revision of the index that is served."""
        return self._loaded.index.revision if self._loaded else None

    def check_ready(self) -> None:
        """Refuse a call while the server is starting."""
        if self._loaded is None:
            raise SidecarError(
                "overloaded", f"the server is still starting: {self.stage}", hint="try again soon", retry_after=1.0
            )

    async def load(self) -> None:
        """Load what is to be served; called once.

        Raises:
            SidecarError: What keeps the index or the encoder from loading.
        """
        began = time.monotonic()
        async with self._changing:
            if self.settings.reranker is not None:
                self._say(f"loading the reranker {self.settings.reranker}")
                self._reranker = await asyncio.to_thread(
                    load_reranker, self.settings.reranker, threads=self.settings.threads
                )
            self._loaded = await asyncio.to_thread(self._open, None)
        self.stage = "ready"
        self.ready_since = time.monotonic()
        index = self._loaded.index
        logger.info(
            "ready after %.1f s: %s, revision %s, %d declarations",
            time.monotonic() - began,
            index.folder,
            index.revision,
            index.size,
        )
        if index.folder == self._example_folder():
            logger.warning(
                "nothing was indexed: answers come from the example library alone; `lean-sidecar index build CORPUS`"
                " makes an index, which is served as soon as it is there"
            )

    async def reload(self) -> bool:
        """Open the index again, and serve the new one from the next request on.

        Returns:
            Whether anything changed.

        Raises:
            SidecarError: What keeps the new index from loading; the old one is served on.
        """
        async with self._changing:
            self.check_ready()
            assert self._loaded is not None
            old = self._loaded
            new = await asyncio.to_thread(self._open, old)
            changed = new.index.revision != old.index.revision or new.index.folder != old.index.folder
            self._loaded = new
            old.retired = True
            self._retired.add(old)
            if not old.users:
                await self._close(old)
        if changed:
            self.metrics.reloads.inc()
            logger.info(
                "serving %s, revision %s, in place of %s", new.index.folder, new.index.revision, old.index.revision
            )
        return changed

    def is_outdated(self) -> bool:
        """Whether the folder to serve holds another index than the one that is served."""
        if self._loaded is None:
            return False
        try:
            folder = self._folder()
            return folder is not None and (
                folder != self._loaded.index.folder or Manifest.read(folder).revision != self._loaded.index.revision
            )
        except SidecarError:
            # Being written at this moment, or taken away: what we have is better than nothing.
            return False

    @contextlib.asynccontextmanager
    async def use(self) -> AsyncIterator[Loaded]:
        """Hold what is served now until the end of a request."""
        self.check_ready()
        assert self._loaded is not None
        loaded = self._loaded
        loaded.users += 1
        try:
            yield loaded
        finally:
            loaded.users -= 1
            if loaded.retired and not loaded.users:
                await self._close(loaded)

    async def close(self) -> None:
        """Let go of everything."""
        for loaded in [*self._retired, *([self._loaded] if self._loaded else [])]:
            await self._close(loaded)
        self._loaded = None
        if self._reranker is not None:
            self._reranker.close()
        await asyncio.to_thread(self.environments.close)

    def status(self) -> dict[str, object]:
        """The answer of `status`, but for the provers and GPUs."""
        self.check_ready()
        assert self._loaded is not None
        index = self._loaded.index
        encoders = {
            role: {
                "name": batcher.encoder.name,
                "dimension": batcher.encoder.dimension,
                "max_tokens": batcher.encoder.max_tokens,
                "fingerprint": batcher.encoder.fingerprint,
                "backend": batcher.encoder.backend,
                "documents": documents_of(batcher.encoder).fingerprint,
            }
            for role, batcher in self._loaded.batchers.items()
        }
        return {
            "version": __version__,
            "protocol": wire.PROTOCOL,
            "instance": self.instance,
            "pid": self.pid,
            "uptime_s": round(time.monotonic() - self._began, 1),
            "revision": index.revision,
            "index": {
                "folder": str(index.folder),
                "example": index.folder == self._example_folder(),
                **index.manifest.counts,
                "revisions": index.manifest.corpus_revisions,
            },
            "encoder": encoders["premises"],
            "search_encoder": encoders["search"],
            "reranker": self.settings.reranker,
            "queue": self._queue_length(),
            "limits": asdict(self.settings.limits),
            "feedback": self.settings.feedback,
        }

    def _watch(self) -> None:
        self.metrics.watch("queue_length", "Requests that wait for a model or run in it", self._queue_length)
        self.metrics.watch("uptime_seconds", "Time since the server started", lambda: time.monotonic() - self._began)
        self.metrics.watch(
            "index_declarations", "Declarations of the index", lambda: self._loaded.index.size if self._loaded else 0
        )

    def _queue_length(self) -> int:
        if self._loaded is None:
            return 0
        return sum(batcher.queue_length for batcher in set(self._loaded.batchers.values()))

    def _example_folder(self) -> Path:
        return self.settings.cache_folder / f"example-{(self._encoder or 'default').replace('/', '-')}"

    def _folder(self) -> Path | None:
        """The index to serve; None for the example library's."""
        chosen = self._index or self.settings.index
        if chosen is not None:
            return chosen.absolute()
        default = self.settings.data_folder / "default"
        return default.absolute() if default.is_dir() else None

    def _open(self, old: Loaded | None) -> Loaded:
        """Open the index to serve, with the encoders of `old` where they fit."""
        folder = self._folder()
        index = self._open_example() if folder is None else self._open_index(folder)
        try:
            batchers = self._batchers(index, old)
            self._choose_device(index)
            fingerprint = documents_of(batchers["premises"].encoder).fingerprint
            embeddings = PremiseEmbeddings(
                self.settings.cache_folder / "embeddings", fingerprint, self.settings.cache_bytes
            )
            selector, engine = self._answering(index, batchers, embeddings)
            return Loaded(index=index, batchers=batchers, embeddings=embeddings, selector=selector, engine=engine)
        except BaseException:
            index.close()
            raise

    def _answering(
        self, index: Index, batchers: dict[Role, MicroBatcher], embeddings: PremiseEmbeddings
    ) -> tuple[PremiseSelector, SearchEngine]:
        """What answers from an index; both read its tables, in which bytes may have changed unseen."""
        fusion = fusion_beside(batchers["premises"].encoder)
        links = DocumentationLinks(self.settings.documentation)
        try:
            return (
                PremiseSelector(index, batchers["premises"], embeddings, self.environments, fusion),
                SearchEngine(index, batchers["search"], self._rewriter, links=links, reranker=self._reranker),
            )
        except (ValueError, IndexError) as error:
            raise damaged(index.folder, f"its tables do not fit together: {error}") from error

    def _open_index(self, folder: Path) -> Index:
        load_products()
        self._say(f"opening the index {folder}")
        return Index.open(folder)

    def _open_example(self) -> Index:
        """Open the example library's index, building it where it is missing or of another version."""
        from sidecar.corpus.source import example_corpus
        from sidecar.encoder.load import DEFAULTS, load_encoder
        from sidecar.index.build import build_index

        folder = self._example_folder()
        corpus = example_corpus()
        names = {role: self._encoder or DEFAULTS[role] for role in ROLES}
        loaded = {name: load_encoder(name, threads=self.settings.threads) for name in set(names.values())}
        try:
            index = Index.open(folder)
            if index.manifest.corpus_fingerprint == corpus.fingerprint():
                for role in ROLES:
                    index.require_encoder(loaded[names[role]], role)
                return index
            index.close()
        except SidecarError:
            pass
        self._say("nothing was indexed yet: building the index of the example library")
        encoders = {role: documents_of(loaded[names[role]]) for role in ROLES}
        build_index(corpus, folder, encoders["premises"], search_encoder=encoders["search"])
        return Index.open(folder)

    def _batchers(self, index: Index, old: Loaded | None) -> dict[Role, MicroBatcher]:
        """A batcher for each role; those that run already are kept, and one encoder is loaded only once."""
        from sidecar.encoder.load import load_encoder

        running = {} if old is None else {documents_of(b.encoder).fingerprint: b for b in old.batchers.values()}
        batchers: dict[Role, MicroBatcher] = {}
        for role in ROLES:
            entry = index.manifest.vector_entry(role)
            batcher = running.get(entry.fingerprint)
            if batcher is None:
                name = self._encoder or entry.encoder
                self._say(f"loading the encoder {name}")
                encoder = load_encoder(name, threads=self.settings.threads)
                made = documents_of(encoder).fingerprint
                if made != entry.fingerprint and made in {index.manifest.vector_entry(r).fingerprint for r in ROLES}:
                    # The one that was asked for is of the other role; this role keeps its own.
                    encoder = load_encoder(entry.encoder, threads=self.settings.threads)
                index.require_encoder(encoder, role)
                encoder.encode(["⊢ True"], "goal")
                batcher = MicroBatcher(encoder, waiting_limit=self.settings.limits.waiting)
                running[entry.fingerprint] = batcher
            batchers[role] = batcher
        return batchers

    def _choose_device(self, index: Index) -> None:
        """Search vectors on a GPU where there is one; where it has no room, the CPU serves as well."""
        device = search_device()
        if device == "cpu":
            return
        self._say(f"copying vectors to {device}")
        try:
            index.search_on(device)
        except RuntimeError as error:
            logger.warning("vectors are searched on the CPU, as they do not fit on %s: %s", device, error)

    def _say(self, stage: str) -> None:
        logger.info("%s", stage)
        if self._loaded is None:
            self.stage = stage

    async def _close(self, loaded: Loaded) -> None:
        self._retired.discard(loaded)
        kept = set(self._loaded.batchers.values()) if self._loaded and self._loaded is not loaded else set()
        for batcher in set(loaded.batchers.values()) - kept:
            await batcher.close()
        await asyncio.to_thread(loaded.embeddings.close)
        loaded.index.close()
