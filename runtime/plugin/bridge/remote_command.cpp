#include "runtime/plugin/bridge/remote_command.hpp"

#include <algorithm>

namespace nomad::plugin::bridge {

using Request = drivers::ExecTaskStreamingRequest;

std::shared_ptr<RemoteCommand> RemoteCommand::start(Remote& remote,
                                                    const std::string& task_id,
                                                    const std::vector<std::string>& command,
                                                    bool tty,
                                                    CommandTold told) {
  const std::shared_ptr<RemoteCommand> made{new RemoteCommand{remote.turns(), std::move(told)}};
  made->self_ = made;
  if (tty) made->outputs_[1].has_ended = true;
  remote.driver().async()->ExecTaskStreaming(&made->context_, made.get());
  Request setup;
  setup.mutable_setup()->set_task_id(task_id);
  setup.mutable_setup()->set_tty(tty);
  for (const auto& word : command)
    setup.mutable_setup()->add_command(word);
  made->AddHold();
  made->send(std::move(setup));
  made->StartRead(&made->response_);
  made->StartCall();
  return made;
}

// -- what goes to it

void RemoteCommand::send(Request message) {
  if (is_over_) return;
  waiting_.push_back(std::move(message));
  write_next();
}

void RemoteCommand::write_next() {
  if (writes_ || is_over_ || waiting_.empty()) return;
  request_ = std::move(waiting_.front());
  waiting_.pop_front();
  writes_ = true;
  StartWrite(&request_);
}

void RemoteCommand::OnWriteDone(bool is_done) {
  turns_.post([self = self_, is_done] { self->wrote(is_done); });
}

void RemoteCommand::wrote(bool is_done) {
  writes_ = false;
  const auto bytes = request_.stdin().data().size();
  if (bytes > 0 && told_.input_taken) told_.input_taken(bytes);
  if (!is_done) is_over_ = true;  // how, the status says
  write_next();
  let_go();
}

void RemoteCommand::input(std::string_view bytes, bool last) {
  if (is_over_) {  // nobody reads it
    if (!bytes.empty() && told_.input_taken) told_.input_taken(bytes.size());
    return;
  }
  if (!bytes.empty()) {
    Request message;
    message.mutable_stdin()->set_data(std::string{bytes});
    send(std::move(message));
  }
  if (!last) return;
  Request end;
  end.mutable_stdin()->set_close(true);
  send(std::move(end));
}

void RemoteCommand::resize(unsigned rows, unsigned columns) {
  Request message;
  message.mutable_tty_size()->set_height(static_cast<int>(rows));
  message.mutable_tty_size()->set_width(static_cast<int>(columns));
  send(std::move(message));
}

void RemoteCommand::close() {
  is_over_ = true;
  told_ = {};
  context_.TryCancel();
  for (auto& output : outputs_)
    output.waiting.clear();
  go_on();
}

// -- what comes from it

void RemoteCommand::OnReadDone(bool is_there) {
  turns_.post([self = self_, is_there] { is_there ? self->read() : self->read_last(); });
}

void RemoteCommand::read_last() {
  is_over_ = true;
  has_read_all_ = true;
  for (auto& output : outputs_)
    output.is_last = true;
  let_go();
}

/// Nothing is read or written any more.
void RemoteCommand::let_go() {
  if (has_read_all_ && !writes_ && std::exchange(is_held_, false)) RemoveHold();
}

void RemoteCommand::read() {
  reads_ = false;
  const auto take = [](Output& to, const drivers::ExecTaskStreamingIOOperation& from) {
    to.waiting += from.data();
    to.is_last = to.is_last || from.close();
  };
  if (response_.has_stdout()) take(outputs_[0], response_.stdout());
  if (response_.has_stderr()) take(outputs_[1], response_.stderr());
  if (response_.exited())
    end_
        = CommandEnd{.code = response_.result().exit_code(), .signal = response_.result().signal()};
  response_.Clear();
  go_on();
}

/// What was read is told as far as it may be; then the next is read.
void RemoteCommand::go_on() {
  tell(0);
  tell(1);
  const bool waits = !outputs_[0].waiting.empty() || !outputs_[1].waiting.empty();
  if (!reads_ && !waits) {
    reads_ = true;
    StartRead(&response_);
  }
  finish();
}

void RemoteCommand::tell(unsigned stream) {
  auto& output = outputs_[stream];
  while (!output.waiting.empty() && untaken_ < window) {
    const auto size = std::min({output.waiting.size(), window - untaken_, std::size_t{64 * 1024}});
    untaken_ += size;
    if (told_.output && !output.has_ended)
      told_.output(stream + 1, std::string_view{output.waiting}.substr(0, size), false);
    output.waiting.erase(0, size);
  }
  if (!output.waiting.empty() || !output.is_last || std::exchange(output.has_ended, true)) return;
  if (told_.output) told_.output(stream + 1, {}, true);
}

void RemoteCommand::taken(std::size_t bytes) {
  untaken_ -= std::min(bytes, untaken_);
  go_on();
}

void RemoteCommand::OnDone(const grpc::Status& status) {
  turns_.post([self = std::exchange(self_, nullptr), status] {
    self->is_done_ = true;
    if (!self->end_)
      self->end_
          = CommandEnd{.code = -1,
                       .error = status.ok() ? "the driver has not said how the command ended"
                                            : refusal_of("ExecTaskStreaming", status).error.what};
    self->go_on();
  });
}

/// Once, when gRPC is done and all output is told.
void RemoteCommand::finish() {
  if (!is_done_ || !end_) return;
  if (!outputs_[0].has_ended || !outputs_[1].has_ended) return;
  if (const auto ended = std::exchange(told_, {}).ended) ended(*end_);
}

}  // namespace nomad::plugin::bridge
