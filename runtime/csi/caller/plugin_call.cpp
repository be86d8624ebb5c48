#include "runtime/csi/caller/plugin_call.hpp"

#include <algorithm>
#include <chrono>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <fmt/format.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "csi.grpc.pb.h"
#include "runtime/csi/caller/answers.hpp"
#include "runtime/csi/caller/requests.hpp"
#include "runtime/csi/cause.hpp"
#include "runtime/host/process/unique_fd.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::csi {
namespace {

constexpr int most_message_bytes = 4 << 20;
constexpr std::chrono::milliseconds longest_call{600'000};

std::uint16_t number_of(Cause cause) {
  return static_cast<std::uint16_t>(cause);
}

/// A connection to the socket at `path`: `not_found` if there is none, or nobody listens at it. A
/// link is none: it would have the agent speak to whoever its task likes.
Result<host::UniqueFd> connect_to(const std::string& path) {
  const host::UniqueFd found{::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
  if (!found) return errno_error(fmt::format("\"{}\"", path), errno, Errc::not_found);

  struct stat status {};

  if (::fstat(found.get(), &status) != 0) return errno_error(path, errno);
  if (!S_ISSOCK(status.st_mode))
    return Error{Errc::not_found, fmt::format("{} is no socket", path)};
  host::UniqueFd connection{::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!connection) return errno_error(path, errno);
  // By what was found: however long its path is, this address is short.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  fmt::format_to_n(address.sun_path, sizeof address.sun_path - 1, "/proc/self/fd/{}", found.get());
  if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return connection;
  if (errno == ECONNREFUSED) return Error{Errc::not_found, "nobody listens at its socket"};
  return errno_error(path, errno);
}

std::shared_ptr<grpc::Channel> channel_over(host::UniqueFd connection) {
  grpc::ChannelArguments settings;
  settings.SetMaxReceiveMessageSize(most_message_bytes);
  settings.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  settings.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  return grpc::CreateCustomInsecureChannelFromFd("csi", connection.release(), settings);
}

/// gRPC's own words for an answer that is too much: its code is that of plugins who are out of
/// something.
bool is_too_much(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED
         && status.error_message().find("larger than max") != std::string::npos;
}

Answer failure_of(std::uint64_t number, const grpc::Status& status) {
  if (is_too_much(status))
    return failed(number, number_of(Cause::nonsense),
                  fmt::format("it answers with more than {} bytes", most_message_bytes));
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED)
    return failed(number, number_of(Cause::deadline), "it has not answered in time");
  auto text = one_line(status.error_message());
  if (text.empty()) text = "it gives no reason";
  return failed(number, static_cast<std::uint16_t>(status.error_code()), text);
}

template <class Service, class Request, class Response>
using Method = void (Service::StubInterface::async_interface::*)(grpc::ClientContext*,
                                                                 const Request*,
                                                                 Response*,
                                                                 std::function<void(grpc::Status)>);

/// Keeps itself until gRPC is done with it.
template <class Service, class Request, class Response>
class CallOf final : public PluginCall,
                     public std::enable_shared_from_this<CallOf<Service, Request, Response>> {
public:
  CallOf(host::UniqueFd connection, std::uint64_t number)
      : number_{number}, stub_{Service::NewStub(channel_over(std::move(connection)))} {}

  void begin(Call call, Method<Service, Request, Response> method, Then then) {
    fill(call, request_);
    const auto patience = std::min(std::chrono::milliseconds{call.getTimeoutMs()}, longest_call);
    context_.set_deadline(std::chrono::system_clock::now() + patience);
    const auto finish = [self = this->shared_from_this(), then](const grpc::Status& status) {
      then(self->read(status));
    };
    (stub_->async()->*method)(&context_, &request_, &response_, finish);
  }

  void cancel() override { context_.TryCancel(); }

private:
  Answer read(const grpc::Status& status) {
    if (!status.ok()) return failure_of(number_, status);
    Draft<schema::csi::Answer> draft;
    draft->setNumber(number_);
    if (const auto complaint = take(response_, *draft); !complaint.empty())
      return failed(number_, number_of(Cause::nonsense), complaint);
    return draft.freeze();
  }

  std::uint64_t number_;
  std::unique_ptr<typename Service::Stub> stub_;
  grpc::ClientContext context_;
  Request request_;
  Response response_;
};

struct Starting {
  Call call;
  host::UniqueFd connection;
  PluginCall::Then then;

  template <class Service, class Request, class Response>
  std::shared_ptr<PluginCall> begin(Method<Service, Request, Response> method) {
    const auto made = std::make_shared<CallOf<Service, Request, Response>>(std::move(connection),
                                                                           call.getNumber());
    made->begin(call, method, std::move(then));
    return made;
  }

  template <class Request, class Response>
  std::shared_ptr<PluginCall> ask(void (proto::Identity::StubInterface::async_interface::*method)(
      grpc::ClientContext*, const Request*, Response*, std::function<void(grpc::Status)>)) {
    return begin<proto::Identity, Request, Response>(method);
  }

  template <class Request, class Response>
  std::shared_ptr<PluginCall> ask(void (proto::Controller::StubInterface::async_interface::*method)(
      grpc::ClientContext*, const Request*, Response*, std::function<void(grpc::Status)>)) {
    return begin<proto::Controller, Request, Response>(method);
  }

  template <class Request, class Response>
  std::shared_ptr<PluginCall> ask(void (proto::Node::StubInterface::async_interface::*method)(
      grpc::ClientContext*, const Request*, Response*, std::function<void(grpc::Status)>)) {
    return begin<proto::Node, Request, Response>(method);
  }
};

using AskIdentity = proto::Identity::StubInterface::async_interface;
using AskController = proto::Controller::StubInterface::async_interface;
using AskNode = proto::Node::StubInterface::async_interface;

std::shared_ptr<PluginCall> start_controller(Starting& starting) {
  using Which = schema::csi::Method;
  switch (starting.call.getMethod()) {
    case Which::CREATE_VOLUME:
      return starting.ask<proto::CreateVolumeRequest, proto::CreateVolumeResponse>(
          &AskController::CreateVolume);
    case Which::DELETE_VOLUME:
      return starting.ask<proto::DeleteVolumeRequest, proto::DeleteVolumeResponse>(
          &AskController::DeleteVolume);
    case Which::CONTROLLER_PUBLISH_VOLUME:
      return starting
          .ask<proto::ControllerPublishVolumeRequest, proto::ControllerPublishVolumeResponse>(
              &AskController::ControllerPublishVolume);
    case Which::CONTROLLER_UNPUBLISH_VOLUME:
      return starting
          .ask<proto::ControllerUnpublishVolumeRequest, proto::ControllerUnpublishVolumeResponse>(
              &AskController::ControllerUnpublishVolume);
    case Which::VALIDATE_VOLUME_CAPABILITIES:
      return starting
          .ask<proto::ValidateVolumeCapabilitiesRequest, proto::ValidateVolumeCapabilitiesResponse>(
              &AskController::ValidateVolumeCapabilities);
    case Which::LIST_VOLUMES:
      return starting.ask<proto::ListVolumesRequest, proto::ListVolumesResponse>(
          &AskController::ListVolumes);
    case Which::CONTROLLER_GET_CAPABILITIES:
      return starting
          .ask<proto::ControllerGetCapabilitiesRequest, proto::ControllerGetCapabilitiesResponse>(
              &AskController::ControllerGetCapabilities);
    case Which::CREATE_SNAPSHOT:
      return starting.ask<proto::CreateSnapshotRequest, proto::CreateSnapshotResponse>(
          &AskController::CreateSnapshot);
    case Which::DELETE_SNAPSHOT:
      return starting.ask<proto::DeleteSnapshotRequest, proto::DeleteSnapshotResponse>(
          &AskController::DeleteSnapshot);
    case Which::LIST_SNAPSHOTS:
      return starting.ask<proto::ListSnapshotsRequest, proto::ListSnapshotsResponse>(
          &AskController::ListSnapshots);
    case Which::CONTROLLER_EXPAND_VOLUME:
      return starting
          .ask<proto::ControllerExpandVolumeRequest, proto::ControllerExpandVolumeResponse>(
              &AskController::ControllerExpandVolume);
    default:
      return nullptr;
  }
}

std::shared_ptr<PluginCall> start_node(Starting& starting) {
  using Which = schema::csi::Method;
  switch (starting.call.getMethod()) {
    case Which::NODE_STAGE_VOLUME:
      return starting.ask<proto::NodeStageVolumeRequest, proto::NodeStageVolumeResponse>(
          &AskNode::NodeStageVolume);
    case Which::NODE_UNSTAGE_VOLUME:
      return starting.ask<proto::NodeUnstageVolumeRequest, proto::NodeUnstageVolumeResponse>(
          &AskNode::NodeUnstageVolume);
    case Which::NODE_PUBLISH_VOLUME:
      return starting.ask<proto::NodePublishVolumeRequest, proto::NodePublishVolumeResponse>(
          &AskNode::NodePublishVolume);
    case Which::NODE_UNPUBLISH_VOLUME:
      return starting.ask<proto::NodeUnpublishVolumeRequest, proto::NodeUnpublishVolumeResponse>(
          &AskNode::NodeUnpublishVolume);
    case Which::NODE_GET_VOLUME_STATS:
      return starting.ask<proto::NodeGetVolumeStatsRequest, proto::NodeGetVolumeStatsResponse>(
          &AskNode::NodeGetVolumeStats);
    case Which::NODE_EXPAND_VOLUME:
      return starting.ask<proto::NodeExpandVolumeRequest, proto::NodeExpandVolumeResponse>(
          &AskNode::NodeExpandVolume);
    case Which::NODE_GET_CAPABILITIES:
      return starting.ask<proto::NodeGetCapabilitiesRequest, proto::NodeGetCapabilitiesResponse>(
          &AskNode::NodeGetCapabilities);
    case Which::NODE_GET_INFO:
      return starting.ask<proto::NodeGetInfoRequest, proto::NodeGetInfoResponse>(
          &AskNode::NodeGetInfo);
    default:
      return start_controller(starting);
  }
}

std::shared_ptr<PluginCall> start_any(Starting& starting) {
  using Which = schema::csi::Method;
  switch (starting.call.getMethod()) {
    case Which::GET_PLUGIN_INFO:
      return starting.ask<proto::GetPluginInfoRequest, proto::GetPluginInfoResponse>(
          &AskIdentity::GetPluginInfo);
    case Which::GET_PLUGIN_CAPABILITIES:
      return starting
          .ask<proto::GetPluginCapabilitiesRequest, proto::GetPluginCapabilitiesResponse>(
              &AskIdentity::GetPluginCapabilities);
    case Which::PROBE:
      return starting.ask<proto::ProbeRequest, proto::ProbeResponse>(&AskIdentity::Probe);
    default:
      return start_node(starting);
  }
}

/// gRPC's queue of callbacks ends with the last channel that uses it, which would be in the middle
/// of one of its own callbacks: one question, to nobody, keeps it for as long as the program lives.
void keep_callbacks() {
  struct Kept {
    std::unique_ptr<proto::Identity::Stub> stub = proto::Identity::NewStub(
        grpc::CreateChannel("unix:/dev/null/nobody", grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    proto::ProbeRequest request;
    proto::ProbeResponse response;
  };

  static Kept* const kept = [] {
    auto* const made = new Kept;
    made->context.set_deadline(std::chrono::system_clock::now());
    made->stub->async()->Probe(&made->context, &made->request, &made->response,
                               [](const grpc::Status&) {});
    return made;
  }();
  static_cast<void>(kept);
}

}  // namespace

Answer failed(std::uint64_t number, std::uint16_t cause, const std::string& why) {
  Draft<schema::csi::Answer> draft;
  draft->setNumber(number);
  draft->setCause(cause);
  draft->setText(text(why));
  return draft.freeze();
}

std::shared_ptr<PluginCall> PluginCall::start(schema::csi::Call::Reader call, Then then) {
  keep_callbacks();
  auto connection = connect_to(copy(call.getSocket()));
  if (!connection) {
    const bool is_none = connection.error().code == Errc::not_found;
    then(failed(call.getNumber(), number_of(is_none ? Cause::no_socket : Cause::unavailable),
                connection.error().what));
    return nullptr;
  }
  Starting starting{call, std::move(*connection), then};
  auto started = start_any(starting);
  if (!started)
    then(failed(call.getNumber(), number_of(Cause::unimplemented), "there is no such method"));
  return started;
}

}  // namespace nomad::csi
