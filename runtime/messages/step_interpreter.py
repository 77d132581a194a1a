"""Native interpreter of message steps: send, receive, compare, copy and reduce through MPI.

`collective_steps.py` writes the steps of a collective. The bindings are [context, source, result];
the constants are the steps, each an opcode with its operands, then `END`. A place is two words: a
base (`SCRATCH`, `SOURCE_DATA`, `RESULT_DATA`, `MEMORY`, or the address of a word that holds an
address) and an offset in bytes.

Each device has a context: its position in the steps, MPI's functions and handles, and message
counts by device. While messages are awaited, the function returns `WAITING` from time to time, so
that Python can check whether other ranks have failed; called again, it continues. In the phase
`START` it returns at once and does not wait. The devices of one rank synchronise in shared memory
(`PUBLISH`, `SYNCHRONIZE`), and each records in its context where it waits (`mpi/rank_threads.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..abi.native_code import source_of
from ..intrinsics import (
    atomic_load,
    atomic_store,
    call_library,
    clear_bytes,
    load_field,
    load_u32,
    load_word,
    store_field,
    store_word,
)
from ..protocol import (
    BARRIER_GENERATION,
    FAILED,
    MISMATCHED,
    RELEASED,
    RESIZED,
    SIGNATURE,
    SPINS,
    START,
    WAITING,
    arrive,
    back_off,
)
from ..threads.shared_memory_collectives import combine, copy_pieces

SOURCE = source_of(__file__)

END, SEND, RECEIVE, WAIT, CHECK, COPY, CLEAR, REDUCE, FAIL, PUBLISH, SYNCHRONIZE, NOTIFY, EXPECT = (
    range(13)
)
"""Opcodes and their operands:

- `SEND`, `RECEIVE`: a place, bytes, the other device;
- `WAIT`: waits for all requests in flight;
- `CHECK`: a place, and the word that must be there;
- `COPY`: two places, bytes, and the trip counts and strides of two loops;
- `CLEAR`: a place, bytes;
- `REDUCE`: a kernel, elements, the target, the number of sources, scratch memory, the sources;
- `FAIL`: a status;
- `PUBLISH`: the address at which the rank's other devices find source, result, scratch memory and
  header, and the header;
- `SYNCHRONIZE`: the words of a barrier, and how many devices of the rank take part;
- `NOTIFY`: the address of the word in which host code says whether there are new sizes;
- `EXPECT`: an address, and the word there if no device has new sizes.
"""

SCRATCH, SOURCE_DATA, RESULT_DATA, MEMORY = range(4)
"""Bases of places; the offset of a place in `MEMORY` is its address."""

PUBLISHED_SOURCE, PUBLISHED_RESULT, PUBLISHED_SCRATCH, PUBLISHED_HEADER = range(0, 32, 8)
"""Byte offsets of what `PUBLISH` writes."""

POSITION, OPEN, MISMATCH, SCRATCH_START, REQUESTS, STATUS, SENT, RECEIVED = range(8)
ISEND, IRECV, TEST, COMMUNICATOR, BYTE = range(8, 13)
ABORT, PROCESS, DEVICES, HEADER, AWAITS, AT_BARRIER, GENERATION, TURNS, SAW_NEW, HAS_ARRIVED = (
    range(13, 23)
)
CONTEXT_WORDS = 24
"""Words of a context.

First come the next step, the number of requests in flight, the address of a header that did not
match, the scratch memory, the requests, an `MPI_Status`, and message counts by device; then the
addresses of `MPI_Isend`, `MPI_Irecv` and `MPI_Test`, and MPI's handles; the address of a word that
is nonzero when all must stop, the number of this device, and the number of devices per rank.

The rest is read by other threads, to learn where the device waits: the header of its collective;
whether it waits for messages; in which barrier and generation it waits for devices of its rank; and
how often it has resumed. `SAW_NEW`: some device has reported new sizes. `HAS_ARRIVED`: the device
has arrived at the barrier of its current step.
"""

REQUEST_BYTES = 16
"""Bytes of a request: MPI's handle, and the device that sends, or -1."""

POLLS = 1 << 12
"""Polls of requests after which Python checks for failures."""

POLLS_BETWEEN_YIELDS = 8
"""Polls between two yields; polls are frequent, since each moves a part of a long message."""

YIELDS = 1 << 11
"""Polls in which a waiting rank yields its core, before it sleeps between polls."""


def address_of_place(bindings: Sequence[int], constants: Sequence[int], at: int) -> int:
    """Return the address of the place whose words are at position `at` of the steps."""
    base, offset = constants[at], constants[at + 1]
    if base == SCRATCH:
        return load_field(bindings[0], SCRATCH_START) + offset
    if base == SOURCE_DATA:
        return bindings[1] + offset
    if base == RESULT_DATA:
        return bindings[2] + offset
    if base == MEMORY:
        return offset
    return load_word(base) + offset


def start_message(context: int, opcode: int, address: int, size: int, process: int) -> int:
    """Start to send a message to a device or to receive one from it."""
    count = load_field(context, OPEN)
    request = load_field(context, REQUESTS) + REQUEST_BYTES * count
    devices = load_field(context, DEVICES)
    own, other = load_field(context, PROCESS) % devices, process % devices
    function, peer, tag = load_field(context, IRECV), process, 1 + other * devices + own
    if opcode == SEND:
        count_message(load_field(context, SENT), process)
        function, peer, tag = load_field(context, ISEND), -1, 1 + own * devices + other
    store_word(request + 8, peer)
    store_field(context, OPEN, count + 1)
    status = call_library(
        function,
        address,
        size,
        load_field(context, BYTE),
        process // devices,
        tag,
        load_field(context, COMMUNICATOR),
        request,
    )
    return FAILED if status != 0 else 0


def count_message(counts: int, process: int) -> None:
    """Count a message exchanged with a device."""
    store_word(counts + 8 * process, load_word(counts + 8 * process) + 1)


def test_requests(context: int, is_patient: bool) -> int:
    """Test the requests in flight and remove those that are complete.

    Each test lets MPI progress all requests, so with `is_patient` testing stops at the first
    incomplete one.
    """
    requests = load_field(context, REQUESTS)
    status = load_field(context, STATUS)
    count = load_field(context, OPEN)
    number = 0
    while number < count:
        request = requests + REQUEST_BYTES * number
        store_word(status, 0)
        if call_library(load_field(context, TEST), request, status, status + 8, 0, 0, 0, 0) != 0:
            return FAILED
        if load_u32(status) != 0:
            sender = load_word(request + 8)
            if sender >= 0:
                count_message(load_field(context, RECEIVED), sender)
            # The last request takes its place.
            count -= 1
            last = requests + REQUEST_BYTES * count
            store_word(request, load_word(last))
            store_word(request + 8, load_word(last + 8))
            store_field(context, OPEN, count)
        else:
            number = count if is_patient else number + 1
    return 0


def wait_for_messages(context: int, phase: int) -> int:
    """Wait for all requests; return 0, FAILED, RELEASED, or WAITING after a number of polls."""
    if phase == START:
        if test_requests(context, False) != 0:
            return FAILED
        return WAITING if load_field(context, OPEN) != 0 else 0
    store_field(context, AWAITS, 1)
    for polls in range(POLLS):
        # The last poll tests all requests, so that Python can say which devices are awaited.
        if test_requests(context, polls < POLLS - 1) != 0:
            return FAILED
        if load_field(context, OPEN) == 0:
            store_field(context, AWAITS, 0)
            store_field(context, TURNS, load_field(context, TURNS) + 1)
            return 0
        if atomic_load(load_field(context, ABORT)) != 0:
            return RELEASED
        if polls > SPINS and polls % POLLS_BETWEEN_YIELDS == 0:
            back_off(polls, YIELDS)
    return WAITING


def publish(bindings: Sequence[int], place: int, header: int) -> None:
    """Publish this device's buffers and header to the other devices of its rank."""
    context = bindings[0]
    store_field(context, HEADER, header)
    store_word(place + PUBLISHED_SOURCE, bindings[1])
    store_word(place + PUBLISHED_RESULT, bindings[2])
    store_word(place + PUBLISHED_SCRATCH, load_field(context, SCRATCH_START))
    store_word(place + PUBLISHED_HEADER, header)


def wait_at_barrier(context: int, barrier: int, participants: int, phase: int) -> int:
    """Wait for the other devices of the rank; return 0, RELEASED or WAITING."""
    if load_field(context, HAS_ARRIVED) == 0:
        store_field(context, GENERATION, arrive(barrier, participants))
        store_field(context, HAS_ARRIVED, 1)
    generation = load_field(context, GENERATION)
    if atomic_load(barrier + BARRIER_GENERATION) == generation and phase == START:
        return WAITING
    store_field(context, HAS_ARRIVED, 0)
    if atomic_load(barrier + BARRIER_GENERATION) != generation:
        return 0
    atomic_store(context + 8 * AT_BARRIER, barrier)
    polls = 0
    while atomic_load(barrier + BARRIER_GENERATION) == generation:
        if atomic_load(load_field(context, ABORT)) != 0:
            return RELEASED
        polls += 1
        back_off(polls, YIELDS)
    atomic_store(context + 8 * AT_BARRIER, 0)
    store_field(context, TURNS, load_field(context, TURNS) + 1)
    return 0


def reduce_pieces(bindings: Sequence[int], constants: Sequence[int], at: int) -> int:
    """Reduce several places: [kernel, elements, target, number of sources, scratch, sources]."""
    participants = constants[at + 4]
    words = address_of_place(bindings, constants, at + 5)
    store_word(words, address_of_place(bindings, constants, at + 2))
    for number in range(participants):
        source = address_of_place(bindings, constants, at + 7 + 2 * number)
        store_word(words + 8 + 8 * number, source)
    return combine(constants[at], words, participants, constants[at + 1])


def next_step(context: int) -> int:
    """Return the position of the next step, as a number to the type checker."""
    return load_field(context, POSITION)


def run_messages(bindings: Sequence[int], constants: Sequence[int], first: int, last: int) -> int:
    """Run steps from the context's position; return 0, WAITING, or the status of a failure."""
    context = bindings[0]
    at = next_step(context)
    status = 0
    begin = at
    while status == 0:
        begin = at
        opcode = constants[at]
        if opcode == END:
            store_field(context, POSITION, 0)
            return 0
        if opcode <= RECEIVE:
            address = address_of_place(bindings, constants, at + 1)
            status = start_message(context, opcode, address, constants[at + 3], constants[at + 4])
            at += 5
        elif opcode == WAIT:
            status = wait_for_messages(context, first)
            at += 1
        elif opcode == CHECK:
            address = address_of_place(bindings, constants, at + 1)
            if load_word(address) != constants[at + 3]:
                store_field(context, MISMATCH, address)
                status = MISMATCHED
            at += 4
        elif opcode == COPY:
            target = address_of_place(bindings, constants, at + 1)
            copy_pieces(target, address_of_place(bindings, constants, at + 3), constants, at + 5)
            at += 12
        elif opcode == CLEAR:
            clear_bytes(address_of_place(bindings, constants, at + 1), constants[at + 3])
            at += 4
        elif opcode == REDUCE:
            status = reduce_pieces(bindings, constants, at + 1)
            at += 8 + 2 * constants[at + 5]
        elif opcode == PUBLISH:
            publish(bindings, constants[at + 1], constants[at + 2])
            at += 3
        elif opcode == SYNCHRONIZE:
            status = wait_at_barrier(context, constants[at + 1], constants[at + 2], first)
            at += 3
        elif opcode == NOTIFY:
            store_word(constants[at + 1], bindings[SIGNATURE])
            at += 2
        elif opcode == EXPECT:
            if load_word(constants[at + 1]) != constants[at + 2]:
                store_field(context, SAW_NEW, 1)
                status = RESIZED
            at += 3
        else:
            status = constants[at + 1]
    store_field(context, POSITION, begin if status == WAITING else 0)
    return status
