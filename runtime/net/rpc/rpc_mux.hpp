// RpcMux: one connection's protocol without its socket: which streams are open, what may still
// come, what is to be sent next, and when a peer is to be given up. Bytes and times go in; bytes
// and events come out. Tested and fuzzed as it stands.
//
// Requests, answers and byte streams of both sides share the connection. A message is cut into
// frames of at most 64 KiB, and each frame is chosen at the moment the socket takes it: the most
// urgent class first, within a class one frame of each stream in turn. One-way messages of a class
// stay in their order, because they take turns as one stream.
//
// Invariants:
// (1) What a peer can make us keep is bounded: `max_message_bytes` per message,
//     `max_assembling_bytes` of unfinished messages, `max_streams` open requests, a window of
//     `window_bytes` per byte stream. Beyond a bound the peer is at fault, and the connection ends;
//     only too many requests are refused one by one.
// (2) What we queue is bounded by `max_queue_bytes`: beyond it new calls fail with `overloaded`,
//     and input waits (`wants_input`) while answers pile up. Data of byte streams has a bound of
//     its own and never holds input up: it may wait for the peer's windows, which are input. Each
//     stream has a window's worth at most; all together `max_queue_bytes`, beyond which a stream
//     gets one write at a time.
// (3) A stream id is used once. Ids of the dialing side are odd, of the accepting side even, both
//     growing; 0 is the connection.
// (4) A frame for a stream that is closed is dropped, not an error: it was under way. A frame for
//     one that never was is the peer's fault.
// (5) Every call gets exactly one Answered, as long as somebody calls `expire` and, at the end,
//     `abort`.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/net/rpc/rpc_assembly.hpp"
#include "runtime/net/rpc/rpc_request.hpp"

namespace nomad::net {

using RpcClock = std::chrono::steady_clock;

struct RpcLimits {
  std::size_t max_message_bytes = 64 * 1024 * 1024;
  std::size_t max_assembling_bytes = 128 * 1024 * 1024;
  std::size_t max_streams = 16 * 1024;  ///< Open requests of the peer.
  std::size_t max_queue_bytes = 128 * 1024 * 1024;
  std::uint32_t window_bytes = 256 * 1024;       ///< Of a byte stream, per direction.
  std::chrono::milliseconds ping_after{10'000};  ///< Of silence.
  std::chrono::milliseconds dead_after{25'000};  ///< Of silence: the connection ends.
};

using RpcStreamId = std::uint32_t;

// -- events

struct RpcRequested {
  RpcStreamId stream = 0;  ///< 0 for a one-way request.
  RpcRequest request;
};

/// Our call is over. `was_sent`: at least part of the request had left; without it the peer
/// surely did nothing.
struct RpcAnswered {
  RpcStreamId stream = 0;
  Result<Bytes> outcome = Error{};
  bool was_sent = true;
  bool by_peer = false;  ///< The peer answered, with a value or an error.
};

/// The one-way request `number` has left for the socket, or never will.
struct RpcPosted {
  std::uint64_t number = 0;
  Result<> outcome = {};
};

/// The peer withdrew its request, its deadline passed, or the connection ends: nobody waits.
struct RpcCancelled {
  RpcStreamId stream = 0;
};

struct RpcData {
  RpcStreamId stream = 0;
  Bytes bytes;
  bool last = false;
};

/// A byte stream that refused bytes takes some again.
struct RpcWritable {
  RpcStreamId stream = 0;
};

struct RpcGreeted {
  RpcHello hello;
};

struct RpcGoodbye {
  std::string why;
};

using RpcEvent = std::variant<RpcRequested,
                              RpcAnswered,
                              RpcPosted,
                              RpcCancelled,
                              RpcData,
                              RpcWritable,
                              RpcGreeted,
                              RpcGoodbye>;

using RpcEvents = std::vector<RpcEvent>;

class RpcMux {
public:
  using Time = RpcClock::time_point;

  enum class Side : std::uint8_t { dialer, acceptor };

  /// Queues `hello` as the first frame.
  RpcMux(Side side, const RpcHello& hello, RpcLimits limits, Time now);

  // -- calls of ours

  /// Opens a stream. `overloaded` when too much is queued, `too_large`, `unavailable` after a
  /// goodbye of either side.
  Result<RpcStreamId> call(RpcRequest request, Time now);

  /// Queues a one-way request; `number` comes back in RpcPosted.
  Result<> post(RpcRequest request, std::uint64_t number);

  /// Gives up a call; it gets no Answered.
  void cancel(RpcStreamId stream);

  // -- calls of the peer; a stream that is gone takes and drops everything

  void respond(RpcStreamId stream, Bytes body);
  void fail(RpcStreamId stream, const Error& error);

  // -- byte streams, either side

  /// Queues bytes. False, with nothing queued, when a window's worth waits already, or too much of
  /// all streams (RpcWritable comes later), or the stream is gone.
  bool write(RpcStreamId stream, Bytes bytes);

  /// No more bytes in this direction.
  void end_write(RpcStreamId stream);

  /// The receiver has taken `count` bytes of RpcData and can take as many more.
  void taken(RpcStreamId stream, std::size_t count);

  bool is_open(RpcStreamId stream) const;

  // -- the connection

  /// Input as it comes, in pieces of any size. An error ends the connection: `corrupt` or
  /// `too_large`, with a sentence for the log.
  Result<> receive(std::span<const std::byte> bytes, Time now, RpcEvents& events);

  /// False while so much output waits that input should too.
  bool wants_input() const;

  bool has_output() const;

  /// The next frame, chosen now, and what its leaving means; none when there is no output after
  /// all.
  struct Piece {
    RpcFrameHeaderBytes header;
    Bytes payload;
  };

  std::optional<Piece> next_output(RpcEvents& events);

  /// Bytes that wait.
  std::size_t queued_bytes() const { return queued_bytes_ + data_bytes_; }

  void say_goodbye(std::string_view why);

  /// Ends calls whose deadline has passed, pings a silent peer. An error when it has been silent
  /// for too long.
  Result<> expire(Time now, RpcEvents& events);

  /// The connection is gone: everything open ends with `reason`.
  void abort(const Error& reason, RpcEvents& events);

  const std::optional<RpcHello>& peer() const { return peer_; }

  std::size_t open_streams() const { return streams_.size(); }

private:
  struct Outgoing {  ///< One queued message of a stream, or a chunk of a byte stream.
    RpcFrameKind kind = RpcFrameKind::data;
    Bytes head = {};  ///< Sent before `body`; requests only.
    Bytes body = {};
    std::size_t sent = 0;  ///< Of both.
    bool first_done = false;
    bool one_way = false;
    bool byte_stream = false;
    bool last = true;
    std::uint64_t number = 0;  ///< Of a one-way request.
    RpcStreamId stream = 0;
  };

  struct Stream {
    bool ours = false;  ///< We called.
    bool byte_stream = false;
    bool request_done = false;  ///< The whole request has come (theirs) or gone (ours).
    bool any_sent = false;
    RpcPriority priority = RpcPriority::normal;
    Time deadline = Time::max();
    std::string assembling;  ///< The unfinished message of the peer.
    std::deque<Outgoing> out;
    bool queued = false;     ///< Stands in a turn.
    bool finishing = false;  ///< The final frame is queued: gone once it is sent.
    std::uint32_t send_window = 0;
    std::uint32_t receive_window = 0;
    std::size_t unreported = 0;  ///< Taken, not yet told to the peer.
    std::size_t data_waiting = 0;
    bool refused_write = false;
    bool write_ended = false;
    bool peer_ended = false;
  };

  struct Posts {
    std::deque<Outgoing> out;
    bool queued = false;
  };

  using Payload = std::span<const std::byte>;

  Result<> on_frame(const RpcFrameHeader& header, Payload payload, Time now, RpcEvents& events);
  Result<> on_hello(Payload payload, RpcEvents& events);
  Result<> on_request(const RpcFrameHeader& header, Payload payload, Time now, RpcEvents& events);
  Result<> on_post(const RpcFrameHeader& header, Payload payload, RpcEvents& events);
  Result<> on_response(const RpcFrameHeader& header, Payload payload, RpcEvents& events);
  Result<> on_error(const RpcFrameHeader& header, Payload payload, RpcEvents& events);
  Result<> on_data(const RpcFrameHeader& header, Payload payload, RpcEvents& events);
  Result<> on_window(const RpcFrameHeader& header, Payload payload);
  void on_cancel(RpcStreamId id, RpcEvents& events);

  /// The stream of a frame; null when it is closed already, an error when it never was.
  Result<Stream*> find(const RpcFrameHeader& header);
  void answered(RpcStreamId id, Result<Bytes> outcome, bool by_peer, RpcEvents& events);

  void enqueue(RpcStreamId id, Stream& stream, Outgoing outgoing);
  void control(RpcFrameKind kind, RpcStreamId stream, std::string_view payload);
  std::optional<Piece> stream_piece(RpcStreamId id, RpcEvents& events);
  std::optional<Piece> post_piece(RpcPriority priority, RpcEvents& events);
  Piece cut(Outgoing& outgoing, RpcPriority priority, std::size_t limit, bool& done);
  RpcPriority next_class();
  static bool is_sendable(const Stream& stream);
  void drop_output(Stream& stream);
  std::size_t& count_of(const Outgoing& outgoing);
  void erase(RpcStreamId id);
  void set_deadline(RpcStreamId id, Stream& stream, Time deadline);

  Side side_;
  RpcLimits limits_;
  RpcAssembly assembly_;
  std::unordered_map<RpcStreamId, Stream> streams_;
  std::set<std::pair<Time, RpcStreamId>> deadlines_;
  std::deque<Piece> control_;  ///< Hello, pings, windows, cancels: before everything.
  Posts posts_[rpc_priority_count];
  std::deque<RpcStreamId> turns_[rpc_priority_count];  ///< 0 stands for the posts.
  std::string posts_assembling_[rpc_priority_count];
  std::string input_;  ///< An unfinished frame.
  std::optional<RpcHello> peer_;
  RpcStreamId next_id_;
  RpcStreamId newest_of_peer_[rpc_priority_count] = {};  ///< Classes overtake each other.
  std::size_t queued_bytes_ = 0;                         ///< Without data of byte streams.
  std::size_t data_bytes_ = 0;                           ///< That (2).
  std::size_t control_bytes_ = 0;
  std::size_t peer_streams_ = 0;
  unsigned higher_in_a_row_ = 0;  ///< Frames sent while a lower class waited.
  Time last_heard_;
  Time last_ping_;
  bool closing_ = false;
};

}  // namespace nomad::net
