// The inside of ExecPump: what its thread does with the descriptors of each session. Included by
// the two sources of the pump alone.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/host/exec_pump.hpp"
#include "runtime/host/executor/protocol.hpp"

namespace nomad::host {

/// One command. Members are guarded by `lock` but for those of the pump's thread alone.
class ExecPump::Session {
public:
  std::mutex lock;
  ExecEnds ends;
  std::string input;
  std::size_t written = 0;  ///< Of `input`.
  bool input_ended = false;
  bool input_closed = false;  ///< Nobody reads it any more.
  bool input_refused = false;
  std::size_t unacknowledged = 0;
  bool started = false;
  bool abandoned = false;  ///< Nobody holds the handle.
  bool marked = false;     ///< The thread is to look at it.

  // Of the pump's thread, from `start` on.
  ExecEvents events;
  executor::FrameReader reader;
  std::optional<ExecResult> result;
  std::map<int, std::uint32_t> watched;  ///< Descriptors in the epoll, with their events.
  bool over = false;
};

/// What the thread, the pump and the handles share.
class ExecPump::Core {
public:
  using SessionPtr = std::shared_ptr<Session>;

  static constexpr std::size_t piece = 32 * 1024;  ///< The most that is read and told at once.
  static constexpr const char* stopped = "the agent has ended the command";

  Core(UniqueFd epoll, UniqueFd wake) : epoll_(std::move(epoll)), wake_(std::move(wake)) {}

  /// The thread is to look at the session; false when there is none any more. The caller does not
  /// hold the session's lock.
  bool mark(const SessionPtr& session);

  void run();
  void stop();
  bool watch_wake();

private:
  void wake();
  bool take_marked();
  void on_event(int descriptor);
  void look(const SessionPtr& session);
  void want(const SessionPtr& session, int descriptor, std::uint32_t events);
  void watch_all(const SessionPtr& session);
  void write_input(const SessionPtr& session);
  void close_input(Session& session);
  bool read_output(const SessionPtr& session, UniqueFd& from, ExecEvents::Output which);
  void end_output(const SessionPtr& session, UniqueFd& from, ExecEvents::Output which);
  void read_socket(const SessionPtr& session);
  void lose(const SessionPtr& session, const std::string& why);
  void finish_if_over(const SessionPtr& session);
  void forget(const SessionPtr& session);

  UniqueFd epoll_;
  UniqueFd wake_;
  std::mutex lock_;
  std::vector<SessionPtr> marked_;  ///< Guarded by lock_.
  bool stopping_ = false;           ///< Guarded by lock_.
  // Of the thread.
  std::map<int, SessionPtr> by_descriptor_;
  std::vector<SessionPtr> sessions_;
  std::array<char, piece> buffer_;
};

}  // namespace nomad::host
