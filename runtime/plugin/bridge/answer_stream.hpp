// AnswerStream: a question of gRPC's that is answered again and again. Each answer is taken in a
// turn before the next one is read, so that a driver that says much waits.
//
// Threads: the plugin's, but for what gRPC calls. It keeps itself until gRPC is done with it.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include "runtime/base/turns.hpp"

namespace nomad::plugin::bridge {

template <class Request, class Response>
class AnswerStream final : public grpc::ClientReadReactor<Response> {
public:
  struct Told {
    std::function<void(const Response&)> answer;
    std::function<void(const grpc::Status&)> ended;  ///< Once; not if it was cancelled.
    /// Calls `read` in a later turn, when the next answer may come.
    std::function<void(std::function<void()> read)> next;
  };

  /// `begin(context, request, reactor)` is the stub's method.
  template <class Begin>
  static std::shared_ptr<AnswerStream> open(Turns turns,
                                            Request request,
                                            Told told,
                                            const Begin& begin) {
    const std::shared_ptr<AnswerStream> made{
        new AnswerStream{std::move(turns), std::move(request), std::move(told)}};
    made->self_ = made;
    begin(&made->context_, &made->request_, made.get());
    made->AddHold();  // reads begin in turns
    made->StartRead(&made->response_);
    made->StartCall();
    return made;
  }

  /// Nothing is told any more. Also from within what is told.
  void cancel() {
    told_ = {};
    context_.TryCancel();
  }

  void OnReadDone(bool is_there) override {
    if (!is_there) return this->RemoveHold();
    turns_.post([self = self_] {
      // Copies, for each may cancel, which lets go of both.
      if (const auto answer = self->told_.answer) answer(self->response_);
      self->response_.Clear();
      const auto read = [self] { self->StartRead(&self->response_); };
      if (const auto next = self->told_.next)
        next(read);
      else
        read();
    });
  }

  void OnDone(const grpc::Status& status) override {
    turns_.post([self = std::exchange(self_, nullptr), status] {
      if (const auto ended = std::exchange(self->told_, {}).ended) ended(status);
    });
  }

private:
  AnswerStream(Turns turns, Request request, Told told)
      : turns_{std::move(turns)}, request_{std::move(request)}, told_{std::move(told)} {}

  Turns turns_;
  grpc::ClientContext context_;
  Request request_;
  Response response_;
  Told told_;
  std::shared_ptr<AnswerStream> self_;
};

}  // namespace nomad::plugin::bridge
