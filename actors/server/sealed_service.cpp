#include "actors/server/sealed_service.hpp"

#include <utility>

#include "actors/core/supervise.hpp"
#include "actors/server/actor_proposer.hpp"
#include "runtime/cluster/variable_commands.hpp"
#include "schema/rpc.capnp.h"

namespace nomad::server {
namespace {

using namespace std::chrono_literals;
using schema::rpc::SealedWriteReply;

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

struct LinkState {
  static constexpr const char* name = "sealed_link";

  std::optional<ActorProposer> writes;
};

using LinkPointer = SealedLink::stateful_pointer<LinkState>;

actor::Answer<SealedWritten> ask_leader(LinkPointer self,
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

actor::Answer<SealedWritten> write_here(LinkPointer self, const WriteSealed& msg) {
  auto promise = self->make_response_promise<SealedWritten>();
  self->state.writes->propose_raw(msg.command,
                                  [promise](const Result<raft::Applied>& applied) mutable {
                                    actor::answer(promise, to_sealed(applied));
                                  });
  return promise;
}

SealedLink::behavior_type sealed_link(LinkPointer self,
                                      raft::Proposer proposer,
                                      const rpc::Forwarder& forwarder,
                                      const std::shared_ptr<const raft::LeaderView>& leader) {
  self->state.writes.emplace(self, std::move(proposer), access::own_work("sealed_link"));
  return {[self, forwarder, leader](const WriteSealed& msg) {
    return leader->known().leads ? write_here(self, msg) : ask_leader(self, forwarder, msg);
  }};
}

}  // namespace

void SealedService::add_to(rpc::MethodRouter& router) {
  router.on<schema::Command, SealedWriteReply>(
      rpc::Method::server_write_sealed,
      [open = writer_](const rpc::Caller&, const Object<schema::Command>& command,
                       rpc::Answer<SealedWriteReply> answer) {
        const auto writer = open.get();
        if (!writer) return answer(Error{Errc::unavailable, "the server is starting"});
        if (!cluster::is_sealed_command(command->which()))
          return answer(Error{Errc::invalid_argument, "only sealed commands come ready made"});
        writer->propose_raw(
            access::own_work("sealed_service"), command, Turns::here(),
            [answer](const Result<raft::Applied>& applied) {
              const auto written = to_sealed(applied);
              if (!written) return answer(written.error());
              answer.with([&](SealedWriteReply::Builder& reply) { fill(reply, *written); });
            });
      });
}

void SealedService::open(Writer writer) {
  writer_.set(std::move(writer));
}

void SealedService::stop() {
  writer_.set({});
}

SealedLink spawn_sealed_link(const actor::Owner& owner,
                             raft::Proposer proposer,
                             const rpc::Forwarder& forwarder,
                             std::shared_ptr<const raft::LeaderView> leader) {
  return actor::spawn<actor::Policy::restart>(owner, sealed_link, std::move(proposer), forwarder,
                                              std::move(leader));
}

}  // namespace nomad::server
