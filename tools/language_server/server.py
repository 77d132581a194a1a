"""`mesh-lsp`: the Language Server Protocol over standard input and output.

Texts are analysed on a separate thread, so that the protocol stays responsive. An analysis is
cancelled as soon as its text changes.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from ..console import fault_text
from ..diagnostics import Diagnostic, Severity
from ..driver import new_context
from .analysis import Analysis, Piece, analyse
from .completion import Kind, Operations, completions_at
from .definitions import definition_at
from .hover import hover_at
from .outline import Entry, outline
from .positions import Position, Positions
from .recovering_parser import Cancelled
from .references import InvalidName, References, references_at, renamed
from .reused_functions import Extent
from .shardings import Shardings, find_shardings

QUIET_SECONDS = 0.15
"""The time without edits in seconds before a text is analysed."""

STACK_BYTES = 64 << 20
"""The stack size of the analysis thread, for deep recursion. Memory is only used as needed."""

Result = TypeVar("Result")


class Document:
    """A text that is open in the editor, with its analysis."""

    def __init__(self, uri: str, text: str, number: int, encoding: str) -> None:
        self.uri = uri
        self.number = number
        """The version of the text according to the editor."""
        self.positions = Positions(text, encoding)
        self.analysis: Analysis | None = None
        self.task: asyncio.Task[Analysis] | None = None
        self.is_outdated = threading.Event()
        """Set when the text being analysed is no longer the editor's text."""
        self._shardings: dict[int, tuple[Piece, Shardings]] = {}

    @property
    def name(self) -> str:
        """Return the path of the file."""
        return to_fs_path(self.uri) or self.uri

    def change(self, change: Any, encoding: str) -> None:
        """Apply an edit."""
        place: lsp.Range | None = getattr(change, "range", None)
        text: str = change.text
        if place is not None:
            start = place.start.line, place.start.character
            text = self.positions.replaced(start, (place.end.line, place.end.character), text)
        self.positions = Positions(text, encoding)

    def shardings(self, piece: Piece, find: Callable[[], Shardings]) -> Shardings:
        """Return the shardings of a piece, computed once per piece by `find`."""
        known = self._shardings.get(id(piece))
        if known is None or known[0] is not piece:
            self._shardings = {id(piece): (piece, find())}
        return self._shardings[id(piece)][1]


class MeshServer(LanguageServer):
    """The server and its open documents."""

    def __init__(self) -> None:
        super().__init__("mesh-lsp", version("mesh-opt"))  # pyright: ignore[reportUnknownMemberType]
        self.context = new_context()
        self.operations = Operations(self.context)
        self.documents: dict[str, Document] = {}
        threading.stack_size(STACK_BYTES)
        self._thread = ThreadPoolExecutor(1, "analysis")

    @property
    def encoding(self) -> str:
        """Return the encoding in which the editor counts characters."""
        encoding = self.workspace.position_encoding
        return str(getattr(encoding, "value", encoding) or "utf-16")

    def in_thread(self, function: Callable[..., Result], *arguments: Any) -> asyncio.Future[Result]:
        """Run a slow function on the analysis thread."""
        return asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    def look_at(self, document: Document, delay: float) -> None:
        """Analyse a document after a delay, unless it changes again."""
        document.is_outdated.set()
        if document.task is not None:
            document.task.cancel()
        document.is_outdated = threading.Event()
        document.task = asyncio.create_task(self._analyse(document, delay))

    async def _analyse(self, document: Document, delay: float) -> Analysis:
        await asyncio.sleep(delay)
        text, number, is_outdated = document.positions.text, document.number, document.is_outdated
        try:
            analysis = await self.in_thread(
                analyse, text, document.name, self.context, document.analysis, is_outdated.is_set
            )
        except (Cancelled, asyncio.CancelledError):
            raise
        except Exception as fault:
            self._publish_fault(document, fault)
            raise
        document.analysis = analysis
        found = [self._diagnostic(document, analysis, each) for each in analysis.diagnostics()]
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri=document.uri, version=number, diagnostics=found)
        )
        return analysis

    def _publish_fault(self, document: Document, fault: Exception) -> None:
        """Publish an internal error, since no diagnostics would mean that the text is correct."""
        start = lsp.Position(0, 0)
        shown = lsp.Diagnostic(lsp.Range(start, start), fault_text("mesh-lsp", fault).strip())
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(document.uri, [shown], document.number)
        )

    async def analysis_of(self, uri: str) -> tuple[Document, Analysis] | None:
        """Return the document and the analysis of its current text; `None` if it is not open."""
        document = self.documents.get(uri)
        while document is not None and document.task is not None:
            task = document.task
            try:
                return document, await asyncio.shield(task)
            except (asyncio.CancelledError, Cancelled):
                if document.task is task:
                    raise
        return None

    def shardings_of(self, document: Document, piece: Piece) -> Shardings:
        """Return the shardings of a piece."""

        def find() -> Shardings:
            return find_shardings(piece.module, self.context, piece.broken)

        return document.shardings(piece, find)

    def _diagnostic(
        self, document: Document, analysis: Analysis, diagnostic: Diagnostic
    ) -> lsp.Diagnostic:
        notes = [
            lsp.DiagnosticRelatedInformation(
                lsp.Location(document.uri, self._place(document, analysis, note)), note.message
            )
            for note in diagnostic.notes
        ]
        return lsp.Diagnostic(
            range=self._place(document, analysis, diagnostic),
            message=diagnostic.message,
            severity=_SEVERITIES[diagnostic.severity],
            source="mesh-opt",
            related_information=notes or None,
        )

    def _place(self, document: Document, analysis: Analysis, diagnostic: Diagnostic) -> lsp.Range:
        position = diagnostic.position
        start = 0 if position is None else analysis.offset_of(position)
        return range_of(analysis.positions(self.encoding), Extent(*analysis.word_at(start)))


_SEVERITIES = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.REMARK: lsp.DiagnosticSeverity.Information,
    Severity.NOTE: lsp.DiagnosticSeverity.Hint,
}


def range_of(positions: Positions, extent: Extent) -> lsp.Range:
    """Convert an extent to a range of the protocol."""
    return lsp.Range(
        _position(positions.position(extent.start)), _position(positions.position(extent.end))
    )


def _position(position: Position) -> lsp.Position:
    return lsp.Position(*position)


def new_server() -> MeshServer:
    """Return a server with all features registered."""
    server = MeshServer()
    _keep_documents(server)
    _answer_at_names(server)
    _find_references(server)
    _complete(server)
    _outline(server)
    return server


def _keep_documents(server: MeshServer) -> None:
    @server.feature(lsp.INITIALIZED)
    async def initialized(params: lsp.InitializedParams) -> None:
        # Import all dialects before the first completion needs their operations.
        await asyncio.sleep(1)
        await server.in_thread(server.operations.all)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        item = params.text_document
        document = Document(item.uri, item.text, item.version, server.encoding)
        server.documents[item.uri] = document
        server.look_at(document, 0)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        document = server.documents.get(params.text_document.uri)
        if document is not None:
            for change in params.content_changes:
                document.change(change, server.encoding)
            document.number = params.text_document.version
            server.look_at(document, QUIET_SECONDS)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        document = server.documents.pop(uri, None)
        if document is not None:
            document.is_outdated.set()
            if document.task is not None:
                document.task.cancel()
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


def _answer_at_names(server: MeshServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        found = await server.analysis_of(params.text_document.uri)
        if found is None:
            return None
        document, analysis = found
        offset = _offset(server, analysis, params.position)

        def text() -> str | None:
            return hover_at(
                analysis,
                offset,
                server.context,
                lambda piece: server.shardings_of(document, piece),
            )

        shown = await server.in_thread(text)
        if shown is None:
            return None
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, shown))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: lsp.DefinitionParams) -> lsp.Location | None:
        found = await server.analysis_of(params.text_document.uri)
        if found is None:
            return None
        document, analysis = found
        extent = definition_at(analysis, _offset(server, analysis, params.position))
        if extent is None:
            return None
        positions = analysis.positions(server.encoding)
        return lsp.Location(document.uri, range_of(positions, extent))


def _find_references(server: MeshServer) -> None:
    async def find(
        document: lsp.TextDocumentIdentifier, position: lsp.Position
    ) -> tuple[Analysis, References] | None:
        found = await server.analysis_of(document.uri)
        if found is None:
            return None
        _, analysis = found
        offset = _offset(server, analysis, position)
        references = await server.in_thread(references_at, analysis, offset)
        return None if references is None else (analysis, references)

    def ranges(analysis: Analysis, extents: Sequence[Extent]) -> list[lsp.Range]:
        positions = analysis.positions(server.encoding)
        return [range_of(positions, extent) for extent in extents]

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    async def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        if (found := await find(params.text_document, params.position)) is None:
            return []
        analysis, of = found
        skipped = None if params.context.include_declaration else of.definition
        shown = [each for each in of.occurrences if each != skipped]
        uri = params.text_document.uri
        return [lsp.Location(uri, place) for place in ranges(analysis, shown)]

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    async def highlight(params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
        if (found := await find(params.text_document, params.position)) is None:
            return []
        analysis, of = found
        read, write = lsp.DocumentHighlightKind.Read, lsp.DocumentHighlightKind.Write
        return [
            lsp.DocumentHighlight(place, write if extent == of.definition else read)
            for extent, place in zip(of.occurrences, ranges(analysis, of.occurrences), strict=True)
        ]

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    async def prepare(params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder | None:
        if (found := await find(params.text_document, params.position)) is None:
            return None
        analysis, of = found
        (place,) = ranges(analysis, [of.asked])
        return lsp.PrepareRenamePlaceholder(place, of.name)

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    async def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
        if (found := await find(params.text_document, params.position)) is None:
            return None
        analysis, of = found
        try:
            name = await server.in_thread(renamed, analysis, of, params.new_name)
        except InvalidName as problem:
            raise JsonRpcInvalidParams(str(problem)) from problem
        edits = [lsp.TextEdit(place, name) for place in ranges(analysis, of.occurrences)]
        return lsp.WorkspaceEdit({params.text_document.uri: edits})


def _complete(server: MeshServer) -> None:
    @server.feature(
        lsp.TEXT_DOCUMENT_COMPLETION,
        lsp.CompletionOptions(trigger_characters=[".", "%", "@", "#", "!"]),
    )
    async def completion(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        # Do not wait for an analysis while typing: the names of the last one suffice.
        document = server.documents.get(params.text_document.uri)
        if document is None:
            return []
        positions, analysis = document.positions, document.analysis
        offset = positions.offset(params.position.line, params.position.character)
        if not server.operations.are_known:
            await server.in_thread(server.operations.all)
        entries = completions_at(positions.text, offset, analysis, server.operations)
        end = params.position
        return [
            lsp.CompletionItem(
                entry.label,
                kind=_KINDS[entry.kind],
                detail=entry.detail,
                filter_text=entry.label,
                text_edit=lsp.TextEdit(
                    lsp.Range(lsp.Position(end.line, end.character - entry.typed), end), entry.label
                ),
            )
            for entry in entries
        ]


def _outline(server: MeshServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        found = await server.analysis_of(params.text_document.uri)
        if found is None:
            return []
        _, analysis = found
        positions = analysis.positions(server.encoding)
        return [_symbol(positions, entry) for entry in outline(analysis)]


_KINDS = {
    Kind.OPERATION: lsp.CompletionItemKind.Function,
    Kind.DIALECT: lsp.CompletionItemKind.Module,
    Kind.VALUE: lsp.CompletionItemKind.Variable,
    Kind.SYMBOL: lsp.CompletionItemKind.Reference,
    Kind.ALIAS: lsp.CompletionItemKind.Constant,
}


def _offset(server: MeshServer, analysis: Analysis, position: lsp.Position) -> int:
    return analysis.positions(server.encoding).offset(position.line, position.character)


def _symbol(positions: Positions, entry: Entry) -> lsp.DocumentSymbol:
    kind = lsp.SymbolKind.Variable
    if entry.operation.endswith((".func", ".initializer", ".export")):
        kind = lsp.SymbolKind.Function
    elif entry.children or entry.operation.endswith("module"):
        kind = lsp.SymbolKind.Module
    return lsp.DocumentSymbol(
        entry.name,
        kind,
        range_of(positions, entry.extent),
        range_of(positions, entry.place),
        detail=entry.detail,
        children=[_symbol(positions, child) for child in entry.children],
    )


def serve() -> None:
    """Serve the editor that started this process, until it ends."""
    new_server().start_io()
