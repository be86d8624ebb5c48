// ListFsm: the smallest state machine that shows a mistake of the log: it remembers every command
// in order. A command that begins with "bad" is refused by `apply`; one that begins with "\0" is
// malformed.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "runtime/raft/fsm.hpp"

namespace nomad::test {

/// Read from any thread.
class ListFsm : public raft::Fsm {
public:
  using List = std::vector<std::string>;

  std::shared_ptr<const List> published() const {
    const std::scoped_lock lock{mutex_};
    return published_;
  }

  raft::Index applied() const {
    const std::scoped_lock lock{mutex_};
    return applied_;
  }

  Result<> check(std::span<const std::byte> payload) const override {
    if (!payload.empty() && payload.front() == std::byte{0})
      return Error{Errc::corrupt, "a command does not begin with zero"};
    return {};
  }

  std::vector<raft::Outcome> apply(std::span<const raft::Entry> entries,
                                   raft::Index applied) override {
    std::vector<raft::Outcome> outcomes;
    for (const auto& entry : entries) {
      raft::Outcome outcome;
      outcome.index = entry.index;
      if (entry.payload.text().starts_with("bad"))
        outcome.error = Error{Errc::invalid_argument, "a bad command"};
      else
        list_->push_back(std::string{entry.payload.text()});
      outcomes.push_back(std::move(outcome));
    }
    publish(applied);
    return outcomes;
  }

  std::unique_ptr<raft::SnapshotSource> snapshot() const override {
    struct Source : raft::SnapshotSource {
      List list;

      Result<> write(raft::SnapshotSink& sink) const override {
        NOMAD_TRY(sink.begin_table("list"));
        for (std::size_t at = 0; at < list.size(); ++at)
          NOMAD_TRY(sink.row(fmt::format("{:012}", at), std::as_bytes(std::span{list[at]})));
        return {};
      }
    };

    auto source = std::make_unique<Source>();
    source->list = *list_;
    return source;
  }

  Result<std::shared_ptr<raft::PreparedState>> prepare(raft::SnapshotRows& rows) const override {
    const auto made = std::make_shared<PreparedList>();
    NOMAD_TRY(
        rows.read("list", [&](std::string_view, std::span<const std::byte> value) -> Result<> {
          made->list.emplace_back(reinterpret_cast<const char*>(value.data()), value.size());
          return {};
        }));
    return std::shared_ptr<raft::PreparedState>{made};
  }

  void install(raft::PreparedState& prepared, raft::Index applied) override {
    *list_ = std::move(static_cast<PreparedList&>(prepared).list);
    publish(applied);
  }

private:
  struct PreparedList : raft::PreparedState {
    List list;
  };

  void publish(raft::Index applied) {
    const std::scoped_lock lock{mutex_};
    published_ = std::make_shared<const List>(*list_);
    applied_ = applied;
  }

  std::shared_ptr<List> list_ = std::make_shared<List>();
  mutable std::mutex mutex_;
  std::shared_ptr<const List> published_ = std::make_shared<const List>();
  raft::Index applied_ = 0;
};

}  // namespace nomad::test
