#include "actors/server/sealed_service.hpp"

#include <mutex>
#include <utility>

#include "actors/core/asker.hpp"
#include "schema/rpc.capnp.h"

namespace nomad::server {
namespace {

using namespace std::chrono_literals;
using schema::rpc::SealedWriteReply;
using server_api::SealedWritten;
using server_api::WriteSealed;

constexpr auto write_patience = 30s;

void fill(SealedWriteReply::Builder& reply, const SealedWritten& written) {
  reply.setIndex(written.index);
  reply.setConflict(written.conflict);
  if (written.variable) reply.setVariable(*written.variable);
}

SealedWritten read(const Object<SealedWriteReply>& reply) {
  SealedWritten written;
  written.index = reply->getIndex();
  written.conflict = reply->getConflict();
  if (reply->hasVariable())
    written.variable = Object<schema::Variable>::freeze(reply->getVariable());
  return written;
}

actor::Answer<SealedWritten> ask_leader(SealedOffice::pointer self,
                                        const rpc::Forwarder& forwarder,
                                        const WriteSealed& msg) {
  rpc::transport::Call call;
  call.method = rpc::Method::server_write_sealed;
  call.body = rpc::bytes_of(msg.command);
  call.timeout = write_patience;
  auto promise = self->make_response_promise<SealedWritten>();
  self->request(forwarder, write_patience + 5s, rpc::forwarder::SendOn{std::move(call)})
      .then(
          [promise](const rpc::transport::Reply& answer) mutable {
            auto reply = answer.outcome
                             ? Object<SealedWriteReply>::from_bytes(answer.outcome->view())
                             : Result<Object<SealedWriteReply>>{answer.outcome.error()};
            if (reply)
              promise.deliver(read(*reply));
            else
              promise.deliver(reply.error());
          },
          [promise](const Error& err) mutable { promise.deliver(err); });
  return promise;
}

SealedOffice::behavior_type sealed_link(SealedOffice::pointer self,
                                        const SealedOffice& own,
                                        const rpc::Forwarder& forwarder,
                                        const std::shared_ptr<const raft::LeaderView>& leader) {
  return {[self, own, forwarder, leader](const WriteSealed& msg) -> actor::Answer<SealedWritten> {
    if (leader->known().leads) return self->delegate(own, msg);
    return ask_leader(self, forwarder, msg);
  }};
}

}  // namespace

struct SealedService::Shared {
  explicit Shared(actor::System& system) : asker{system, 1} {}

  actor::Asker asker;
  std::mutex mutex;
  SealedOffice office;

  SealedOffice open_office() {
    const std::scoped_lock lock{mutex};
    return office;
  }
};

SealedService::SealedService(actor::System& system) : shared_{std::make_shared<Shared>(system)} {}

void SealedService::add_to(rpc::Router& router) {
  router.on<schema::Command, SealedWriteReply>(
      rpc::Method::server_write_sealed,
      [shared = shared_](const rpc::Caller&, Object<schema::Command> command,
                         rpc::Answer<SealedWriteReply> answer) {
        const auto office = shared->open_office();
        if (!office) return answer(Error{Errc::unavailable, "the server is starting"});
        shared->asker.ask<SealedWritten>(
            office, WriteSealed{std::move(command)}, write_patience,
            [answer](const Result<SealedWritten>& written) {
              if (!written) return answer(written.error());
              answer.with([&](SealedWriteReply::Builder& reply) { fill(reply, *written); });
            });
      });
}

void SealedService::open(const SealedOffice& office) {
  const std::scoped_lock lock{shared_->mutex};
  shared_->office = office;
}

void SealedService::stop() {
  open({});
  shared_->asker.stop();
}

SealedOffice spawn_sealed_link(actor::System& system,
                               const SealedOffice& own,
                               const rpc::Forwarder& forwarder,
                               std::shared_ptr<const raft::LeaderView> leader) {
  return actor::spawn(system, sealed_link, own, forwarder, std::move(leader));
}

}  // namespace nomad::server
