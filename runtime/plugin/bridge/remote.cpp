#include "runtime/plugin/bridge/remote.hpp"

#include <climits>

#include <fmt/format.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "controller.grpc.pb.h"
#include "runtime/plugin/bridge/shown.hpp"

namespace nomad::plugin::bridge {
namespace {

constexpr int greatest_message = 8 * 1024 * 1024;

/// What drivers say of a task that they do not have (drivers.ErrTaskNotFound of Nomad's).
constexpr std::string_view unknown_task = "task not found for given id";

Errc code_of(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::NOT_FOUND:
      return Errc::not_found;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return Errc::timeout;
    case grpc::StatusCode::UNAVAILABLE:
      return Errc::unavailable;
    case grpc::StatusCode::CANCELLED:
      return Errc::cancelled;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return Errc::too_large;
    case grpc::StatusCode::INTERNAL:
      return Errc::corrupt;
    default:
      return status.error_message().find(unknown_task) != std::string::npos ? Errc::not_found
                                                                            : Errc::rejected;
  }
}

}  // namespace

Refusal refusal_of(std::string_view what, const grpc::Status& status) {
  // A program that has ended is followed by another one.
  Refusal refusal{{code_of(status), shown_reason(status.error_message())},
                  status.error_code() == grpc::StatusCode::UNAVAILABLE};
  auto& text = refusal.error.what;
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED)
    text = fmt::format("it has not answered {} in time", what);
  else if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED)
    text = fmt::format("it does not know {}", what);
  else if (status.error_code() == grpc::StatusCode::INTERNAL)
    text = fmt::format("what it answered to {} makes no sense: {}", what, text);
  if (text.empty()) text = fmt::format("it has refused {} without a reason", what);
  drivers::StatusDetails details;
  drivers::RecoverableError recoverable;
  if (details.ParseFromString(status.error_details()))
    for (const auto& each : details.details())
      if (each.type_url().ends_with(".RecoverableError")
          && recoverable.ParseFromString(each.value()))
        refusal.recoverable = recoverable.recoverable();
  return refusal;
}

Remote::Remote(const std::string& target, Turns turns) : turns_{std::move(turns)} {
  grpc::ChannelArguments settings;
  settings.SetMaxReceiveMessageSize(greatest_message);
  settings.SetInt(GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS, INT_MAX);  // its socket has no name any more
  settings.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  settings.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  channel_ = grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), settings);
  driver_ = drivers::Driver::NewStub(channel_);
  base_ = base::BasePlugin::NewStub(channel_);
}

void Remote::shut_down(std::chrono::milliseconds patience) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience);
  ::plugin::Empty empty, answer;
  // It ends in the middle of its answer, as a rule.
  static_cast<void>(
      ::plugin::GRPCController::NewStub(channel_)->Shutdown(&context, empty, &answer));
}

}  // namespace nomad::plugin::bridge
