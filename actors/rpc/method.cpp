#include "actors/rpc/method.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace nomad::rpc {
namespace {

constexpr auto urgent = RpcPriority::urgent;
constexpr auto normal = RpcPriority::normal;

/// Sorted by number.
constexpr std::array table{
    MethodInfo{Method::status_ping, "Status.Ping", Access::anyone, Repeat::freely, Serve::here,
               false, normal},
    MethodInfo{Method::status_leader, "Status.Leader", Access::anyone, Repeat::freely, Serve::here,
               false, normal},
    MethodInfo{Method::status_peers, "Status.Peers", Access::anyone, Repeat::freely, Serve::here,
               false, normal},
    MethodInfo{Method::raft_message, "Raft.Message", Access::own_server, Repeat::if_surely_unsent,
               Serve::here, true, urgent},
    MethodInfo{Method::member_join, "Member.Join", Access::server, Repeat::freely, Serve::here,
               false, normal},
    MethodInfo{Method::member_exchange, "Member.Exchange", Access::server, Repeat::freely,
               Serve::here, false, normal},
    MethodInfo{Method::member_probe, "Member.Probe", Access::server, Repeat::freely, Serve::here,
               false, urgent},
    MethodInfo{Method::member_leave, "Member.Leave", Access::server, Repeat::freely, Serve::here,
               false, normal},
    MethodInfo{Method::member_keyring, "Member.Keyring", Access::server, Repeat::freely,
               Serve::here, false, normal},
    MethodInfo{Method::server_has_node, "Server.HasNode", Access::own_server, Repeat::freely,
               Serve::here, false, normal},
    MethodInfo{Method::server_write_sealed, "Server.WriteSealed", Access::own_server,
               Repeat::if_surely_unsent, Serve::on_leader, false, normal},
    MethodInfo{Method::server_ask_node, "Server.AskNode", Access::own_server,
               Repeat::if_surely_unsent, Serve::here, false, normal},
    MethodInfo{Method::node_register, "Node.Register", Access::own_peer, Repeat::freely,
               Serve::on_leader, false, urgent},
    MethodInfo{Method::node_update_status, "Node.UpdateStatus", Access::own_peer, Repeat::freely,
               Serve::on_leader, false, urgent},
    MethodInfo{Method::node_get_client_allocs, "Node.GetClientAllocs", Access::own_peer,
               Repeat::freely, Serve::on_leader, false, normal},
    MethodInfo{Method::node_update_alloc, "Node.UpdateAlloc", Access::own_peer, Repeat::freely,
               Serve::on_leader, false, urgent},
    MethodInfo{Method::node_register_services, "Node.RegisterServices", Access::own_peer,
               Repeat::freely, Serve::on_leader, false, normal},
    MethodInfo{Method::node_deregister_services, "Node.DeregisterServices", Access::own_peer,
               Repeat::freely, Serve::on_leader, false, normal},
    MethodInfo{Method::node_emit_events, "Node.EmitEvents", Access::own_peer, Repeat::freely,
               Serve::on_leader, false, normal},
    MethodInfo{Method::node_await_previous, "Node.AwaitPrevious", Access::own_peer, Repeat::freely,
               Serve::on_leader, false, normal},
    MethodInfo{Method::node_update_drain, "Node.UpdateDrain", Access::own_peer, Repeat::freely,
               Serve::on_leader, false, normal},
    MethodInfo{Method::node_watch_data, "Node.WatchData", Access::node, Repeat::freely,
               Serve::on_leader, false, normal},
    MethodInfo{Method::node_ask, "Node.Ask", Access::own_peer, Repeat::freely, Serve::on_leader,
               false, normal},
    MethodInfo{Method::node_ask_once, "Node.AskOnce", Access::own_peer, Repeat::if_surely_unsent,
               Serve::on_leader, false, normal},
    MethodInfo{Method::node_question, "Node.Question", Access::own_server, Repeat::if_surely_unsent,
               Serve::here, false, normal},
    MethodInfo{Method::access_resolve, "Access.Resolve", Access::own_peer, Repeat::freely,
               Serve::on_leader, false, normal},
    MethodInfo{Method::region_rows, "Region.Rows", Access::server, Repeat::freely, Serve::on_leader,
               false, normal},
    MethodInfo{Method::api_forward, "Api.Forward", Access::cluster_peer, Repeat::if_surely_unsent,
               Serve::here, false, normal},
    MethodInfo{Method::api_on_node, "Api.OnNode", Access::own_server, Repeat::if_surely_unsent,
               Serve::here, false, normal},
};

}  // namespace

const MethodInfo* find_method(std::uint16_t number) {
  const auto position = std::lower_bound(table.begin(), table.end(), number,
                                         [](const MethodInfo& entry, std::uint16_t wanted) {
                                           return static_cast<std::uint16_t>(entry.method) < wanted;
                                         });
  if (position == table.end() || static_cast<std::uint16_t>(position->method) != number)
    return nullptr;
  return &*position;
}

const MethodInfo& info(Method method) {
  const auto* entry = find_method(static_cast<std::uint16_t>(method));
  if (entry == nullptr) throw std::logic_error{"a method that the table does not have"};
  return *entry;
}

}  // namespace nomad::rpc
