// StreamSocket: the one engine under all connections that live on an event loop, those of the HTTP
// server and those between agents alike; SocketLoop: such a loop with its sockets. Internal to
// runtime/net.
//
// What a protocol is derives from it and is told what comes (`on_…`); it appends to `output`, says
// whether it `wants_input`, and asks to go on: `flush`, `read_on`. Plain or TLS makes no difference
// to it.
//
//     connecting --> securing --> open --> closed
//     (dialers)      (TLS)
//
// Invariants:
// (1) Everything happens on the loop's thread, and nothing of the protocol is called from within
//     itself by `read_on` and `flush_soon`; by `flush` it may be.
// (2) Both directions are independent: while output waits for the peer, input goes on, also when
//     TLS reads in order to write or writes in order to read.
// (3) Back-pressure: no more is read while `wants_input` is false. How much output may wait is the
//     protocol's to bound, by `output().size()`; it hears of progress by `on_progress`.
// (4) No socket keeps a loop to itself: after some reads in a row the others get their turn.
// (5) Time limits are the protocol's: `check` comes once a tick.
// (6) An exception of the protocol is the failure of its socket: what it was about is half done.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "runtime/base/guard.hpp"
#include "runtime/net/channel.hpp"
#include "runtime/net/event_loop.hpp"
#include "runtime/net/output_queue.hpp"
#include "runtime/net/socket.hpp"

namespace nomad::net {

class StreamSocket;

/// An event loop with its sockets, which share the memory that is read into.
class SocketLoop : public EventLoop {
public:
  /// Without a `tick` (0) nothing is checked, and `wake_at` is the owner's.
  SocketLoop(std::size_t read_bytes, std::chrono::milliseconds tick);
  ~SocketLoop();

  void start();

  /// Closes every socket by `farewell` (which must `close_socket` it) and ends the thread. From
  /// another thread.
  void stop(const std::function<void(StreamSocket&)>& farewell);

  // -- on the loop's thread

  /// False while the loop stops: the socket is closed then.
  bool add(const std::shared_ptr<StreamSocket>& socket);
  void forget(StreamSocket* socket);

  /// For those that are there now; `action` may close some.
  void for_each(const std::function<void(StreamSocket&)>& action);

  std::string buffer;  ///< What every socket reads into.

private:
  void tick();

  const std::chrono::milliseconds tick_;
  std::unordered_map<StreamSocket*, std::shared_ptr<StreamSocket>> sockets_;
  bool is_stopping_ = false;
};

class StreamSocket : public std::enable_shared_from_this<StreamSocket> {
public:
  using Clock = std::chrono::steady_clock;

  StreamSocket(const StreamSocket&) = delete;
  virtual ~StreamSocket();

  /// Once a tick.
  virtual void check(Clock::time_point now) = 0;

  bool is_closed() const { return stage_ == Stage::closed; }

protected:
  /// `socket` is connected.
  StreamSocket(SocketLoop& loop, Descriptor socket);

  // -- what the protocol is told

  virtual void on_open() = 0;  ///< TLS is established, if there is any.
  virtual bool wants_input() const = 0;
  virtual void on_input(std::string_view bytes) = 0;  ///< Valid during the call.
  virtual void on_input_end() = 0;                    ///< The peer sends no more.
  virtual void on_failure(const Error& why) = 0;      ///< Of the socket or of TLS.

  /// A dialed socket is connected, or why not (errno).
  virtual void on_connected(int error_number) { static_cast<void>(error_number); }

  virtual void fill() {}  ///< There is no output: the last moment to choose some.

  virtual void on_progress() {}  ///< The kernel has perhaps taken some output.

  virtual void on_blocked() {}  ///< Some output waits for the peer.

  virtual void on_sent() {}  ///< All output has been taken.

  // -- what the protocol does

  /// Begins with TLS, or goes on without.
  void open(Result<TlsSession> session);
  void open();

  /// Waits until the socket is connected; `on_connected` then.
  void await_connection();

  /// Gives the socket that does not get connected up for another.
  void replace(Descriptor socket);

  OutputQueue& output() { return output_; }

  const OutputQueue& output() const { return output_; }

  /// Sends what the kernel takes.
  void flush();

  /// The same after what else waits for this thread, so that answers of one moment share a write.
  void flush_soon();

  /// Asks to send more when the kernel takes it.
  void flush_when_writable();

  /// `wants_input` may have become true.
  void read_on();

  /// Calls `work`, which is about this socket, for the loop; what that throws is a failure of the
  /// socket.
  template <class Work>
  void safely(Work&& work) {
    if (!guarded("net", work) && !is_closed())
      on_failure({Errc::internal, "an exception broke the connection's work off"});
  }

  void close_socket();

  int native_handle() { return socket_.native_handle(); }

  Channel& channel() { return channel_; }

private:
  friend class SocketLoop;

  enum class Stage : std::uint8_t { connecting, securing, open, closed };

  void arm_read();
  void arm_write();
  void readable();
  void writable();
  void shake_hands();
  void read_some();
  Result<IoOutcome> read_in_a_row();
  bool write_some();

  SocketLoop& loop_;
  boost::asio::posix::stream_descriptor socket_;
  Channel channel_;
  Stage stage_ = Stage::securing;
  unsigned number_ = 0;  ///< Of the socket; counts those given up.
  OutputQueue output_;
  bool read_armed_ = false;
  bool write_armed_ = false;
  bool read_posted_ = false;
  bool flush_posted_ = false;
  bool is_reading_ = false;
  bool is_flushing_ = false;
  bool read_wants_write_ = false;  ///< TLS must send before it can read on.
  bool write_wants_read_ = false;
};

}  // namespace nomad::net
