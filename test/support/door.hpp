// Questions and answers of the door between nodes and servers, as tests ask and read them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/roles/node_door.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/template/cluster_query.hpp"
#include "schema/alloc.capnp.h"
#include "schema/job.capnp.h"
#include "schema/node.capnp.h"
#include "schema/service.capnp.h"
#include "schema/variable.capnp.h"

namespace nomad::test {

// -- questions
// -------------------------------------------------------------------------------------

inline door::Ask registration(const Object<schema::Node>& node) {
  return door::make_ask(view(node->getId()), [](auto& ask) { ask.setRegister(); }, {node});
}

inline door::Ask heartbeat_of(std::string_view node) {
  return door::make_ask(node, [](auto& ask) { ask.setHeartbeat(); });
}

inline door::Ask watch_allocs(std::string_view node,
                              std::uint64_t min_index = 0,
                              std::chrono::milliseconds wait = std::chrono::minutes{5}) {
  return door::make_ask(node, [&](auto& ask) {
    ask.setWatchAllocs(min_index);
    ask.setMaxWaitMs(static_cast<std::uint64_t>(wait.count()));
  });
}

inline door::Ask update_allocs(std::string_view node,
                               const std::vector<Object<schema::Allocation>>& allocs,
                               bool may_wait = false,
                               std::uint64_t number = 0) {
  return door::make_ask(
      node,
      [&](auto& ask) {
        ask.setUpdateAllocs(number);
        ask.setMayWait(may_wait);
      },
      door::rows_of(allocs));
}

inline door::Ask register_services(
    std::string_view node, const std::vector<Object<schema::ServiceRegistration>>& services) {
  return door::make_ask(
      node, [](auto& ask) { ask.setRegisterServices(); }, door::rows_of(services));
}

inline door::Ask deregister_services(std::string_view node,
                                     std::string_view alloc,
                                     const std::vector<std::string>& ids = {}) {
  return door::make_ask(node, [&](auto& ask) {
    auto gone = ask.initDeregisterServices();
    gone.setAllocId(text(alloc));
    auto list = gone.initIds(static_cast<unsigned>(ids.size()));
    for (unsigned i = 0; i < list.size(); ++i)
      list.set(i, text(ids[i]));
  });
}

inline door::Ask await_previous(std::string_view node, std::string_view alloc) {
  return door::make_ask(node, [&](auto& ask) {
    ask.setAwaitPrevious(text(alloc));
    ask.setMaxWaitMs(300'000);
  });
}

inline door::Ask watch_data(std::string_view node,
                            const templates::ClusterQuery& query,
                            std::uint64_t known,
                            std::string_view alloc_id = {},
                            std::string_view task = {}) {
  return door::make_ask(node, [&](auto& ask) {
    auto data = ask.initWatchData();
    data.setAllocId(text(alloc_id));
    data.setTask(text(task));
    data.setKind(static_cast<std::uint8_t>(query.kind));
    data.setNamespace(text(query.name_space));
    data.setName(text(query.name));
    data.setTag(text(query.tag));
    data.setChoose(text(query.choose));
    data.setKnown(known);
    ask.setMaxWaitMs(300'000);
  });
}

/// What a watchData asks for.
inline templates::ClusterQuery query_of(const door::Ask& ask) {
  const auto data = ask->getWatchData();
  return {.kind = static_cast<templates::ClusterQuery::Kind>(data.getKind()),
          .name_space = copy(data.getNamespace()),
          .name = copy(data.getName()),
          .tag = copy(data.getTag()),
          .choose = copy(data.getChoose())};
}

// -- answers
// ---------------------------------------------------------------------------------------

struct Lease {
  std::chrono::milliseconds ttl{0};
  bool awaits_reports = false;
};

inline door::Reply to_reply(Lease lease) {
  return door::make_reply(1, [&](auto& reply) {
    auto given = reply.initLease();
    given.setTtlMs(static_cast<std::uint64_t>(lease.ttl.count()));
    given.setAwaitsReports(lease.awaits_reports);
  });
}

inline Lease lease_in(const door::Reply& reply) {
  return {std::chrono::milliseconds{reply->getLease().getTtlMs()},
          reply->getLease().getAwaitsReports()};
}

struct AssignedAlloc {
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
};

struct AssignedAllocs {
  std::uint64_t index = 0;
  bool complete = false;
  std::vector<AssignedAlloc> allocs{};
};

/// Each allocation with a copy of its job, though the real servers send each job once.
inline door::Reply to_reply(const AssignedAllocs& set) {
  door::Rows rows;
  for (const auto& each : set.allocs)
    rows.emplace_back(each.alloc);
  for (const auto& each : set.allocs)
    rows.emplace_back(each.job);
  return door::make_reply(
      set.index,
      [&](auto& reply) {
        auto allocs = reply.initAllocs();
        allocs.setComplete(set.complete);
        auto jobs = allocs.initJobs(static_cast<unsigned>(set.allocs.size()));
        for (unsigned i = 0; i < jobs.size(); ++i)
          jobs.set(i, i);
      },
      std::move(rows));
}

inline AssignedAllocs allocs_in(const door::Reply& reply) {
  const auto positions = reply->getAllocs().getJobs();
  AssignedAllocs set{reply->getIndex(), reply->getAllocs().getComplete(), {}};
  for (unsigned i = 0; i < positions.size(); ++i)
    set.allocs.push_back(
        {reply.rows.at(i).as<schema::Allocation>().value(),
         reply.rows.at(positions.size() + positions[i]).as<schema::Job>().value()});
  return set;
}

struct Previous {
  bool ended = false;
  std::string http_address{};
  std::string migrate_token{};
};

inline door::Reply to_reply(const Previous& previous) {
  return door::make_reply(1, [&](auto& reply) {
    auto told = reply.initPrevious();
    told.setEnded(previous.ended);
    told.setHttpAddress(text(previous.http_address));
    told.setMigrateToken(text(previous.migrate_token));
  });
}

/// What templates follow.
struct NodeData {
  std::uint64_t digest = 0;
  std::vector<Object<schema::ServiceRegistration>> services{};
  std::vector<Object<schema::Variable>> variables{};
  std::shared_ptr<const security::Secret> items{};
};

inline door::Reply to_reply(const NodeData& data) {
  auto rows = door::rows_of(data.services);
  for (const auto& variable : data.variables)
    rows.emplace_back(variable);
  auto answer = door::make_reply(
      1,
      [&](auto& reply) {
        auto told = reply.initData();
        told.setDigest(data.digest);
        told.setServices(static_cast<std::uint32_t>(data.services.size()));
      },
      std::move(rows));
  answer.secret = data.items;
  return answer;
}

inline NodeData data_in(const door::Reply& reply) {
  const auto services = reply->getData().getServices();
  const auto rows = std::span{reply.rows};
  return {reply->getData().getDigest(),
          door::objects_of<schema::ServiceRegistration>(rows.first(services)).value(),
          door::objects_of<schema::Variable>(rows.subspan(services)).value(), reply.secret};
}

}  // namespace nomad::test
