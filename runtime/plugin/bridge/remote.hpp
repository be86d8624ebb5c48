// Remote: what a plugin of Nomad's is asked over gRPC. Answers come in turns of the plugin's
// thread.
//
// Threads: the plugin's. gRPC's own threads only post turns.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include "base.grpc.pb.h"
#include "driver.grpc.pb.h"
#include "runtime/base/result.hpp"
#include "runtime/base/turns.hpp"
#include "runtime/plugin/bridge/wire.hpp"
#include "runtime/workload/runs/refusal.hpp"

namespace nomad::plugin::bridge {

using workload::Refusal;

/// `what` was asked. `not_found`: it knows no such task.
Refusal refusal_of(std::string_view what, const grpc::Status& status);

class Remote {
public:
  Remote(const std::string& target, Turns turns);

  drivers::Driver::Stub& driver() { return *driver_; }

  const Turns& turns() const { return turns_; }

  /// Blocks until the answer.
  template <class Stub, class Request, class Response>
  Result<Response> ask(std::string_view what,
                       Stub& stub,
                       grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                    const Request&,
                                                    Response*),
                       const Request& request,
                       std::chrono::milliseconds patience) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + patience);
    context.set_wait_for_ready(true);
    Response response;
    const auto status = (stub.*method)(&context, request, &response);
    if (!status.ok()) return refusal_of(what, status).error;
    return response;
  }

  /// `then` is called in a turn, with null for an answer that did not come. No patience: however
  /// long it takes. Returns what withdraws the question.
  template <class Request, class Response>
  std::function<void()> ask(
      std::string_view what,
      void (drivers::Driver::StubInterface::async_interface::*method)(
          grpc::ClientContext*, const Request*, Response*, std::function<void(grpc::Status)>),
      Request request,
      std::chrono::milliseconds patience,
      std::function<void(const Response*, const Refusal&)> then) {
    struct Call {
      grpc::ClientContext context;
      Request request;
      Response response;
    };

    const auto call = std::make_shared<Call>();
    call->request = std::move(request);
    if (patience.count() > 0)
      call->context.set_deadline(std::chrono::system_clock::now() + patience);
    const auto finish = [call, turns = turns_, then = std::move(then),
                         what = std::string{what}](const grpc::Status& status) {
      turns.post([call, then, what, status] {
        if (status.ok()) return then(&call->response, {});
        then(nullptr, refusal_of(what, status));
      });
    };
    (driver_->async()->*method)(&call->context, &call->request, &call->response, finish);
    return [call] { call->context.TryCancel(); };
  }

  base::BasePlugin::Stub& base() { return *base_; }

  /// Asks it to end.
  void shut_down(std::chrono::milliseconds patience);

private:
  Turns turns_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<drivers::Driver::Stub> driver_;
  std::unique_ptr<base::BasePlugin::Stub> base_;
};

}  // namespace nomad::plugin::bridge
