#include "test/unit/runtime/raft/transcript.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/base/overloaded.hpp"

namespace nomad::test {

using namespace raft;

namespace {

std::string_view name_of(Role role) {
  switch (role) {
    case Role::follower:
      return "follower";
    case Role::pre_candidate:
      return "pre_candidate";
    case Role::candidate:
      return "candidate";
    case Role::leader:
      return "leader";
  }
  return "?";
}

std::string describe(const std::vector<Entry>& entries) {
  std::vector<std::string> parts;
  for (const auto& entry : entries) {
    const auto what = entry.kind == EntryKind::barrier         ? "barrier"
                      : entry.kind == EntryKind::configuration ? "members"
                                                               : entry.payload.text();
    parts.push_back(fmt::format("{}@{} {}", entry.index, entry.term, what));
  }
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string describe(const Body& body) {
  return std::visit(
      Overloaded{
          [](const VoteRequest& m) {
            return fmt::format("{}vote request{}, last {}@{}", m.pre_vote ? "pre-" : "",
                               m.transfer ? " by transfer" : "", m.last_index, m.last_term);
          },
          [](const VoteReply& m) {
            return fmt::format("{}vote {}", m.pre_vote ? "pre-" : "",
                               m.granted ? "granted" : "refused");
          },
          [](const Heartbeat& m) {
            return fmt::format("heartbeat, commit {}, round {}", m.commit_index, m.round);
          },
          [](const HeartbeatReply& m) { return fmt::format("heartbeat reply, round {}", m.round); },
          [](const AppendRequest& m) {
            return fmt::format("append after {}@{} {}, commit {}", m.prev_index, m.prev_term,
                               describe(m.entries), m.commit_index);
          },
          [](const AppendReply& m) {
            if (m.accepted) return fmt::format("append accepted up to {}", m.match_index);
            return fmt::format("append after {} refused, hint {}@{}", m.prev_index, m.hint_index,
                               m.hint_term);
          },
          [](const SnapshotChunk& m) {
            return fmt::format("snapshot {}@{}, {} bytes from {} of {}", m.meta.index, m.meta.term,
                               m.data.size(), m.offset, m.total_bytes);
          },
          [](const SnapshotReply& m) {
            return fmt::format("snapshot {}@{} {}", m.index, m.term,
                               m.installed ? std::string{"installed"}
                                           : fmt::format("wants byte {}", m.next_offset));
          },
          [](const TimeoutNow&) { return std::string{"take over"}; },
      },
      body);
}

std::string describe(const LogWrite& write) {
  std::vector<std::string> parts;
  if (write.hard_state)
    parts.push_back(
        fmt::format("term {} vote {}", write.hard_state->current_term,
                    write.hard_state->voted_for.empty() ? "-" : write.hard_state->voted_for));
  if (write.reset_to) parts.push_back(fmt::format("reset to {}", *write.reset_to));
  if (write.truncate_from) parts.push_back(fmt::format("truncate from {}", *write.truncate_from));
  if (!write.append.empty()) parts.push_back("append " + describe(write.append));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

void Transcript::start(const std::string& id) {
  auto& server = servers_[id];
  StartState start;
  start.hard_state = server.hard_state;
  for (const auto& entry : server.log) {
    if (entry.kind == EntryKind::configuration)
      start.configs.append(entry.index, decode_configuration(entry.payload.view()).value());
    start.log.append(entry);
  }
  server.writes.clear();
  server.applied = 0;
  server.core.emplace(CoreOptions{.self = id}, std::move(start),
                      Random{static_cast<std::uint64_t>(id.front())}, now_);
}

void Transcript::step(const std::string& id, Input input) {
  auto& server = servers_.at(id);
  const auto commit = server.core->commit_index();
  const auto role = server.core->role();
  const auto term = server.core->current_term();
  auto out = server.core->step(now_, std::move(input));
  if (server.core->role() != role || server.core->current_term() != term)
    out_ += fmt::format("  {} is {} in term {}\n", id, name_of(server.core->role()),
                        server.core->current_term());
  write_down(id, out);
  if (server.core->commit_index() != commit)
    out_ += fmt::format("  {} commits up to {}\n", id, server.core->commit_index());
  if (const auto apply = server.core->apply_index(); apply > server.applied) {
    server.applied = apply;
    step(id, AppliedUpTo{apply});
  }
}

void Transcript::write_down(const std::string& id, Outputs& out) {
  if (out.proposed && !*out.proposed)
    out_ += fmt::format("  {} refuses: {}\n", id, out.proposed->error().what);
  if (out.write) {
    out_ += fmt::format("  {} writes {}\n", id, describe(*out.write));
    servers_.at(id).writes.emplace_back(out.write_seq, std::move(*out.write));
  }
  for (auto& message : out.messages) {
    out_ += fmt::format("  {} -> {}: {} (term {})\n", id, message.to, describe(message.body),
                        message.term);
    messages_.push_back(std::move(message));
  }
  for (const auto& read : out.reads)
    out_ += fmt::format("  {} grants read {} at {}\n", id, read.id, read.index);
  for (const auto read : out.refused_reads)
    out_ += fmt::format("  {} refuses read {}\n", id, read);
  for (const auto& fetch : out.chunk_fetches)
    out_ += fmt::format("  {} reads snapshot {}@{} from byte {} for {}\n", id, fetch.index,
                        fetch.term, fetch.offset, fetch.peer);
  for (const auto& notice : out.notices)
    out_ += fmt::format("  {} notes: {}\n", id, notice);
  if (out.fatal) out_ += fmt::format("  {} stops: {}\n", id, out.fatal->what);
}

void Transcript::make_durable(Server& server, const LogWrite& write) {
  if (write.hard_state) server.hard_state = *write.hard_state;
  if (write.truncate_from) server.log.resize(*write.truncate_from - 1);
  server.log.insert(server.log.end(), write.append.begin(), write.append.end());
}

void Transcript::persist(const std::string& id) {
  auto& server = servers_.at(id);
  if (server.writes.empty()) return;
  const auto seq = server.writes.back().first;
  for (const auto& [number, write] : std::exchange(server.writes, {}))
    make_durable(server, write);
  step(id, Persisted{seq});
}

/// Those that are under way now; empty names are all. True when there was one.
bool Transcript::deliver(const std::string& from, const std::string& to) {
  std::deque<Message> kept;
  std::deque<Message> arriving;
  for (auto& message : std::exchange(messages_, {})) {
    const bool chosen = (from.empty() || message.from == from) && (to.empty() || message.to == to);
    (chosen ? arriving : kept).push_back(std::move(message));
  }
  messages_ = std::move(kept);
  for (auto& message : arriving) {
    const auto id = message.to;
    if (servers_.contains(id)) step(id, Received{std::move(message)});
  }
  return !arriving.empty();
}

void Transcript::settle() {
  for (bool busy = true; busy;) {
    busy = false;
    for (auto& [id, server] : servers_) {
      busy = busy || !server.writes.empty();
      persist(id);
    }
    busy = deliver({}, {}) || busy;
  }
}

void Transcript::state() {
  for (const auto& [id, server] : servers_) {
    const auto& core = *server.core;
    out_ += fmt::format("  {}: {} in term {}, leader {}, log {}..{}, commit {}, durable {}\n", id,
                        name_of(core.role()), core.current_term(),
                        core.leader().empty() ? "-" : core.leader(), core.log().base_index() + 1,
                        core.log().last_index(), core.commit_index(), core.durable_index());
  }
}

std::string Transcript::run(const std::string& command) {
  out_.clear();
  std::istringstream words{command};
  std::string verb;
  std::string first;
  std::string second;
  words >> verb >> first;
  if (verb == "servers") {
    Configuration members{.cluster_id = "cluster", .members = {}, .removed = {}};
    bool voter = true;
    for (auto id = first; !id.empty(); id.clear(), words >> id) {
      if (id == "learner")
        voter = false;
      else
        members.members.push_back({.id = id, .address = id, .voter = voter});
    }
    for (const auto& member : members.members) {
      servers_[member.id].hard_state = {.current_term = 1, .voted_for = {}};
      servers_[member.id].log
          = {{.index = 1, .term = 1, .kind = EntryKind::configuration, .payload = encode(members)}};
      start(member.id);
    }
    return out_;
  }
  words >> second;
  const auto change = [&](MemberAction action) {
    if (action == MemberAction::add_learner) start(second);
    step(first, ProposeChange{{.action = action, .id = second, .address = second}});
  };
  if (verb == "tick") {
    now_ += std::chrono::milliseconds{std::stol(second)};
    step(first, Tick{});
  } else if (verb == "persist") {
    persist(first);
  } else if (verb == "deliver") {
    deliver(first, second);
  } else if (verb == "drop") {
    std::erase_if(messages_, [&](const Message& message) {
      return message.from == first && message.to == second;
    });
  } else if (verb == "settle") {
    settle();
  } else if (verb == "propose") {
    step(first, ProposeCommands{{Bytes::copy(second)}});
  } else if (verb == "read") {
    step(first, RequestRead{std::stoull(second)});
  } else if (verb == "transfer") {
    step(first, TransferTo{second});
  } else if (verb == "add") {
    change(MemberAction::add_learner);
  } else if (verb == "promote") {
    change(MemberAction::promote);
  } else if (verb == "remove") {
    change(MemberAction::remove);
  } else if (verb == "snapshot") {
    const auto meta = servers_.at(first).core->snapshot_meta(servers_.at(first).applied);
    const auto kept = std::stoull(second);
    step(first, SnapshotSaved{.meta = meta,
                              .bytes = 100,
                              .truncate_through = meta.index > kept ? meta.index - kept : 0});
  } else if (verb == "crash") {
    start(first);
  } else if (verb == "state") {
    state();
  } else {
    out_ += "  unknown command\n";
  }
  return out_;
}

std::string replay(const std::string& file) {
  Transcript transcript;
  std::istringstream lines{file};
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("> "))
      result += line + "\n" + transcript.run(line.substr(2));
    else if (line.empty() || line.starts_with("#"))
      result += line + "\n";
  }
  return result;
}

}  // namespace nomad::test
