#include "runtime/host/exec_pump_core.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/log.hpp"

namespace nomad::host {

namespace {

bool is_passing(int error_number) {
  return error_number == EAGAIN || error_number == EINTR;
}

}  // namespace

bool ExecPump::Core::mark(const SessionPtr& session) {
  {
    std::lock_guard guard{session->lock};
    if (std::exchange(session->marked, true)) return true;
  }
  {
    std::lock_guard guard{lock_};
    if (stopping_) return false;
    marked_.push_back(session);
  }
  wake();
  return true;
}

void ExecPump::Core::wake() {
  std::uint64_t one = 1;
  // It fails only when the counter is full, and then the thread is awake.
  if (::write(wake_.get(), &one, sizeof one) < 0 && errno != EAGAIN)
    log::error("client.exec", "cannot wake the thread of commands' output");
}

void ExecPump::Core::stop() {
  {
    std::lock_guard guard{lock_};
    stopping_ = true;
  }
  wake();
}

bool ExecPump::Core::watch_wake() {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = wake_.get();
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) == 0;
}

void ExecPump::Core::run() {
  while (take_marked()) {
    std::array<epoll_event, 64> events;
    int count = ::epoll_wait(epoll_.get(), events.data(), events.size(), -1);
    if (count < 0 && errno != EINTR) {
      log::error("client.exec", "waiting for commands' output failed",
                 {{"error", std::strerror(errno)}});
      break;
    }
    for (int i = 0; i < count; ++i)
      on_event(events[static_cast<std::size_t>(i)].data.fd);
  }
  std::vector<SessionPtr> left = sessions_;
  {
    std::lock_guard guard{lock_};
    stopping_ = true;
    left.insert(left.end(), marked_.begin(), marked_.end());
    marked_.clear();
  }
  for (const SessionPtr& session : left) {
    lose(session, stopped);
    std::lock_guard guard{session->lock};
    session->marked = false;  // a late `start` learns that nobody looks any more
  }
}

/// False: it is time to end.
bool ExecPump::Core::take_marked() {
  std::vector<SessionPtr> marked;
  {
    std::lock_guard guard{lock_};
    if (stopping_) return false;
    marked.swap(marked_);
  }
  for (const SessionPtr& session : marked)
    look(session);
  return true;
}

void ExecPump::Core::look(const SessionPtr& session) {
  bool abandoned = false;
  {
    std::lock_guard guard{session->lock};
    session->marked = false;
    if (session->over || !(session->started || session->abandoned)) return;
    abandoned = session->abandoned;
  }
  if (abandoned) return forget(session);
  if (std::find(sessions_.begin(), sessions_.end(), session) == sessions_.end())
    sessions_.push_back(session);
  write_input(session);
  watch_all(session);
  finish_if_over(session);
}

void ExecPump::Core::on_event(int descriptor) {
  if (descriptor == wake_.get()) {
    std::uint64_t count = 0;
    if (::read(wake_.get(), &count, sizeof count) < 0 && !is_passing(errno))
      log::error("client.exec", "reading the wake-up failed", {{"error", std::strerror(errno)}});
    return;
  }
  auto found = by_descriptor_.find(descriptor);
  if (found == by_descriptor_.end()) return;
  SessionPtr session = found->second;
  ExecEnds& ends = session->ends;  // descriptors close on this thread alone
  if (descriptor == ends.socket.get()) {
    read_socket(session);
  } else if (descriptor == ends.input.get()) {
    write_input(session);
  } else if (descriptor == ends.errors.get()) {
    read_output(session, ends.errors, ExecEvents::Output::err);
  } else if (descriptor == ends.output.get()) {
    read_output(session, ends.output, ExecEvents::Output::out);
  } else {
    write_input(session);
    read_output(session, ends.terminal, ExecEvents::Output::out);
  }
  if (session->over) return;
  watch_all(session);
  finish_if_over(session);
}

/// Level-triggered, so what is not wanted is not watched: a hang-up would be told for ever.
void ExecPump::Core::want(const SessionPtr& session, int descriptor, std::uint32_t events) {
  if (descriptor < 0) return;
  auto known = session->watched.find(descriptor);
  std::uint32_t before = known == session->watched.end() ? 0 : known->second;
  if (before == events) return;
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  int operation = before == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
  if (::epoll_ctl(epoll_.get(), operation, descriptor, &event) != 0)
    return lose(session, errno_error("watching a command", errno).what);
  if (events == 0) {
    session->watched.erase(descriptor);
    by_descriptor_.erase(descriptor);
  } else {
    session->watched[descriptor] = events;
    by_descriptor_[descriptor] = session;
  }
}

void ExecPump::Core::watch_all(const SessionPtr& session) {
  bool reads = false, writes = false;
  {
    std::lock_guard guard{session->lock};
    reads = session->unacknowledged < ExecSession::output_window;
    writes = !session->input_closed && session->written < session->input.size();
  }
  const std::uint32_t in = reads ? EPOLLIN : 0U, out = writes ? EPOLLOUT : 0U;
  want(session, session->ends.socket.get(), EPOLLIN);
  want(session, session->ends.input.get(), out);
  want(session, session->ends.output.get(), in);
  want(session, session->ends.errors.get(), in);
  want(session, session->ends.terminal.get(), in | out);
}

void ExecPump::Core::write_input(const SessionPtr& session) {
  bool writable = false, hang_up = false;
  {
    std::lock_guard guard{session->lock};
    const UniqueFd& to = session->ends.terminal ? session->ends.terminal : session->ends.input;
    std::string& input = session->input;
    while (to && !session->input_closed && session->written < input.size()) {
      ssize_t sent
          = ::write(to.get(), input.data() + session->written, input.size() - session->written);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno == EAGAIN) break;
      if (sent < 0) session->input_closed = true;
      if (sent > 0) session->written += static_cast<std::size_t>(sent);
    }
    if (session->input_closed || session->written == input.size()) {
      input.clear();
      session->written = 0;
    } else if (session->written > ExecSession::input_queue) {
      input.erase(0, std::exchange(session->written, 0));
    }
    if (session->input_refused && input.size() - session->written <= ExecSession::input_queue) {
      session->input_refused = false;
      writable = true;
    }
    if (input.empty() && session->input_ended) hang_up = true;
  }
  if (hang_up) close_input(*session);
  if (hang_up && session->ends.terminal)
    end_output(session, session->ends.terminal, ExecEvents::Output::out);
  if (writable && session->events.writable) session->events.writable();
}

void ExecPump::Core::close_input(Session& session) {
  if (session.ends.input) {
    by_descriptor_.erase(session.ends.input.get());
    session.watched.erase(session.ends.input.get());
  }
  std::lock_guard guard{session.lock};
  session.ends.input.reset();
  session.input_closed = true;
}

bool ExecPump::Core::read_output(const SessionPtr& session,
                                 UniqueFd& from,
                                 ExecEvents::Output which) {
  if (!from) return false;
  std::size_t room = 0;
  {
    std::lock_guard guard{session->lock};
    if (session->unacknowledged >= ExecSession::output_window) return false;
    room = std::min(piece, ExecSession::output_window - session->unacknowledged);
  }
  ssize_t got = ::read(from.get(), buffer_.data(), room);
  if (got < 0 && is_passing(errno)) return false;
  if (got <= 0) {  // A terminal that nobody has open any more fails with EIO.
    end_output(session, from, which);
    return false;
  }
  {
    std::lock_guard guard{session->lock};
    if (session->abandoned) return false;
    session->unacknowledged += static_cast<std::size_t>(got);
  }
  session->events.output(which, {buffer_.data(), static_cast<std::size_t>(got)});
  return true;
}

void ExecPump::Core::end_output(const SessionPtr& session,
                                UniqueFd& from,
                                ExecEvents::Output which) {
  by_descriptor_.erase(from.get());
  session->watched.erase(from.get());
  bool told = false;
  {
    std::lock_guard guard{session->lock};
    from.reset();
    if (&from == &session->ends.terminal) session->input_closed = true;
    told = session->started && !session->abandoned;
  }
  if (told) session->events.output(which, {});
}

void ExecPump::Core::read_socket(const SessionPtr& session) {
  ssize_t got = ::recv(session->ends.socket.get(), buffer_.data(), buffer_.size(), 0);
  if (got < 0 && is_passing(errno)) return;
  auto outcome = executor::FrameReader::Outcome::malformed;
  if (got > 0) {
    session->reader.append({buffer_.data(), static_cast<std::size_t>(got)});
    do {
      outcome = session->reader.next([&](executor::Message::Reader message) {
        if (message.isExited()) session->result = {.exit_code = message.getExited().getCode()};
      });
    } while (outcome == executor::FrameReader::Outcome::message);
  }
  if (outcome == executor::FrameReader::Outcome::malformed && !session->result)
    return lose(session, "the command was lost with the executor of its task");
  if (!session->result) return;
  // What it has written is still to come.
  by_descriptor_.erase(session->ends.socket.get());
  session->watched.erase(session->ends.socket.get());
  session->ends.socket.reset();
}

void ExecPump::Core::lose(const SessionPtr& session, const std::string& why) {
  if (session->over) return;
  if (!session->result) session->result = {.exit_code = -1, .error = why};
  ExecEnds& ends = session->ends;
  if (ends.output) end_output(session, ends.output, ExecEvents::Output::out);
  if (ends.errors) end_output(session, ends.errors, ExecEvents::Output::err);
  if (ends.terminal) end_output(session, ends.terminal, ExecEvents::Output::out);
  finish_if_over(session);
}

void ExecPump::Core::finish_if_over(const SessionPtr& session) {
  const ExecEnds& ends = session->ends;
  if (session->over || !session->result || ends.output || ends.errors || ends.terminal) return;
  bool told = false;
  {
    std::lock_guard guard{session->lock};
    told = session->started && !session->abandoned;
  }
  auto events = std::exchange(session->events, {});
  ExecResult result = *session->result;
  forget(session);
  if (told) events.exited(result);
}

void ExecPump::Core::forget(const SessionPtr& session) {
  session->over = true;
  for (const auto& [descriptor, events] : std::exchange(session->watched, {}))
    by_descriptor_.erase(descriptor);
  std::erase(sessions_, session);
  session->events = {};
  std::lock_guard guard{session->lock};
  session->ends = {};  // closed descriptors leave the epoll
  session->input.clear();
  session->written = 0;
  session->input_closed = true;
}

}  // namespace nomad::host
