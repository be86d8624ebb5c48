#include "actors/rpc/node_caller.hpp"

#include <algorithm>

#include "actors/core/supervise.hpp"
#include "runtime/base/log.hpp"
#include "schema/rpc.capnp.h"

namespace nomad::rpc {
namespace {

using namespace std::chrono_literals;
using node_caller::Connected;
using node_caller::Find;
using transport::Call;
using transport::Delivery;

constexpr auto search_patience = 5s;

const Error& no_path() {
  static const Error error{Errc::not_found, "No path to node"};
  return error;
}

Bytes has_node_question(const std::string& node_id) {
  return make_body<schema::rpc::HasNodeRequest>(
      [&](auto& request) { request.setNodeId(text(node_id)); });
}

bool has_node(const transport::Reply& reply) {
  if (!reply.outcome) return false;
  const auto said = Object<schema::rpc::HasNodeReply>::from_bytes(reply.outcome->view());
  return said && (*said)->getConnected();
}

/// An answer of a node, if it is one to this question.
Result<door::NodeReply> answer_of(const transport::Reply& reply, door::NodeAnswer expected) {
  if (!reply.outcome && reply.delivery == Delivery::maybe)
    return Error{Errc::unavailable, "rpc error: " + reply.outcome.error().what
                                        + " (the request may have been carried out)"};
  auto answer = NOMAD_TRY(door::unpack_node_reply(NOMAD_TRY(reply.outcome)));
  if (answer->which() != expected) return Error{Errc::corrupt, "the node answers another question"};
  return answer;
}

struct NodeCallerState {
  static constexpr const char* name = "node_caller";

  using Self = NodeCaller::stateful_pointer<NodeCallerState>;
  using Done = std::function<void(const Result<Connected>&)>;

  Self self = nullptr;
  Transport transport;
  ClusterView view;
  std::string address;
  actor::Latest<OwnNode> own;

  actor::Answer<door::NodeReply> ask(const door::NodeAsk& msg) {
    const auto node_id = msg.subject();
    if (const auto here = own.get(); here.node && here.id == node_id)
      return self->delegate(here.node, msg);
    auto promise = self->make_response_promise<door::NodeReply>();
    look(msg, promise, true);
    return promise;
  }

  void look(const door::NodeAsk& msg,
            const actor::Promise<door::NodeReply>& promise,
            bool may_repeat) {
    find(msg.subject(), msg.passed_on,
         [this, msg, promise, may_repeat](const Result<Connected>& found) mutable {
           if (!found) return promise.deliver(found.error());
           send(msg, found->server, promise, may_repeat);
         });
  }

  /// Whether the node may be looked for once more, and asked.
  static bool is_to_repeat(const transport::Reply& reply, door::Repeat repeat) {
    return !reply.outcome
           && (reply.delivery == Delivery::surely_not
               || (reply.delivery == Delivery::maybe && repeat == door::Repeat::freely));
  }

  void send(const door::NodeAsk& msg,
            const std::string& server,
            const actor::Promise<door::NodeReply>& promise,
            bool may_repeat) {
    const auto& question = door::info(msg);
    Call call;
    call.method = server.empty() ? Method::node_question : Method::server_ask_node;
    call.body = door::pack(msg);
    call.timeout = question.patience;
    if (question.priority == actor::Priority::urgent) call.priority = RpcPriority::urgent;
    if (msg.who.grant()) {  // not of the cluster
      const auto& caller = msg.who.caller();
      if (caller.token) call.credentials.token = caller.token->secret.reveal();
      if (caller.limits) call.credentials.limits = caller.limits->text();
      call.remote = caller.remote;
    }
    const auto answered
        = [this, msg, promise, may_repeat, &question](const transport::Reply& reply) mutable {
            if (may_repeat && is_to_repeat(reply, question.repeat))
              return look(msg, promise, false);
            auto given = answer_of(reply, question.answer);
            if (given)
              promise.deliver(std::move(*given));
            else
              promise.deliver(given.error());
          };
    const auto failed = [promise](const Error& err) mutable { promise.deliver(err); };
    if (server.empty()) {
      self->request(transport, question.patience + 5s,
                    transport::CallNode{msg.subject(), std::move(call)})
          .then(answered, failed);
    } else {
      call.to.address = server;
      self->request(transport, question.patience + 5s, std::move(call)).then(answered, failed);
    }
  }

  actor::Answer<Connected> find(const Find& msg) {
    auto promise = self->make_response_promise<Connected>();
    find(msg.node_id, msg.own_only, [promise](const Result<Connected>& found) mutable {
      if (found)
        promise.deliver(*found);
      else
        promise.deliver(found.error());
    });
    return promise;
  }

  void find(const std::string& node_id, bool own_only, Done done) {
    self->request(transport, search_patience, transport::HasNode{node_id})
        .then(
            [this, node_id, own_only, done](const transport::NodeConnected& here) {
              if (here.connected) return done(Connected{});
              if (own_only) return done(no_path());
              ask_others(node_id, done);
            },
            [done](const Error& err) { done(err); });
  }

  /// A search among the other servers: the first that has the node counts.
  struct Search {
    std::size_t open = 0;
    Done done;  ///< Empty once it is over.

    void heard(const std::string& server, bool has_it) {
      const bool is_last = --open == 0;
      if (!done || (!has_it && !is_last)) return;
      const auto tell = std::exchange(done, nullptr);
      tell(has_it ? Result<Connected>{Connected{server}} : Result<Connected>{no_path()});
    }
  };

  void ask_others(const std::string& node_id, Done done) {
    auto servers = view.servers_in(view.region);
    std::erase(servers, address);
    if (servers.empty()) return done(no_path());
    const auto search = std::make_shared<Search>();
    search->open = servers.size();
    search->done = std::move(done);
    for (const auto& server : servers) {
      Call call;
      call.to.address = server;
      call.method = Method::server_has_node;
      call.timeout = search_patience;
      call.body = has_node_question(node_id);
      self->request(transport, search_patience, std::move(call))
          .then([search,
                 server](const transport::Reply& reply) { search->heard(server, has_node(reply)); },
                [search, server](const Error&) { search->heard(server, false); });
    }
  }
};

NodeCaller::behavior_type node_caller_actor(NodeCallerState::Self self,
                                            Transport transport,
                                            ClusterView view,
                                            std::string address,
                                            actor::Latest<OwnNode> own) {
  self->state.self = self;
  self->state.transport = std::move(transport);
  self->state.view = std::move(view);
  self->state.address = std::move(address);
  self->state.own = std::move(own);
  return {
      [self](const door::NodeAsk& msg) { return self->state.ask(msg); },
      [self](const Find& msg) { return self->state.find(msg); },
  };
}

}  // namespace

NodeCaller spawn_node_caller(const actor::Owner& owner,
                             const Transport& transport,
                             ClusterView view,
                             std::string address,
                             actor::Latest<OwnNode> own) {
  return actor::spawn<actor::Policy::restart>(owner, node_caller_actor, transport, std::move(view),
                                              std::move(address), std::move(own));
}

void serve_node_questions(MethodRouter& router,
                          Method method,
                          std::shared_ptr<actor::Asker> asker,
                          actor::Latest<AskedNode> node) {
  router.on_raw(method, [asker = std::move(asker), node = std::move(node)](
                            const access::Principal& agent, const Inbound& inbound) {
    auto question = door::unpack_node_ask(inbound.body, agent.behind());
    if (!question) return inbound.reply(question.error());
    const auto* row = door::find_question((*question)->which());
    if (row == nullptr)
      return inbound.reply(
          Error{Errc::not_found, "this agent does not know the question to a node"});
    const auto open = node.get();
    if (!open) return inbound.reply(Error{Errc::unavailable, "the agent is starting"});
    question->passed_on = true;
    const auto priority = row->priority;
    asker->ask<door::NodeReply>(
        open, std::move(*question), row->patience,
        [reply = inbound.reply](const Result<door::NodeReply>& answer) {
          if (!answer) return reply(answer.error());
          reply(door::pack(*answer));
        },
        priority);
  });
}

}  // namespace nomad::rpc
