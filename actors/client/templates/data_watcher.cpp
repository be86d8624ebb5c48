#include "actors/client/templates/data_watcher.hpp"

#include <map>
#include <utility>

#include "actors/client/templates/template_settings.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/security/variable_items.hpp"

namespace nomad::client {
namespace {

using data_watcher::Follow;
using data_watcher::News;
using data_watcher::TaskQuery;
using data_watcher::Unfollow;
using templates::ClusterQuery;
using Kind = ClusterQuery::Kind;

/// What the servers may take beyond the time that a question is held.
constexpr auto held_slack = std::chrono::seconds{60};

/// The wait after a failed question is over.
struct AskQueryAgain {
  using is_message = void;
  TaskQuery query;
  std::uint64_t number = 0;
};

using WatcherSelf = actor::WithInternal<DataWatcher, void(AskQueryAgain)>;

templates::ServiceInstance service_instance(schema::ServiceRegistration::Reader from) {
  return {.id = copy(from.getId()),
          .name = copy(from.getServiceName()),
          .node = copy(from.getNodeId()),
          .address = copy(from.getAddress()),
          .port = from.getPort(),
          .datacenter = copy(from.getDatacenter()),
          .tags = texts_of(from.getTags()),
          .job_id = copy(from.getJobId()),
          .alloc_id = copy(from.getAllocId())};
}

templates::VariableMeta variable_meta(schema::Variable::Reader from) {
  return {.name_space = copy(from.getNamespace()),
          .path = copy(from.getPath()),
          .create_index = from.getCreateIndex(),
          .modify_index = from.getModifyIndex(),
          .create_time = from.getCreateTime(),
          .modify_time = from.getModifyTime()};
}

class WatcherState {
public:
  static constexpr const char* name = "data_watcher";

  explicit WatcherState(WatcherSelf::pointer self) : self_{self} {}

  void init(DataWatcherOptions options) { options_ = std::move(options); }

  actor::Answer<News> follow(const Follow& msg) {
    auto& topic = topics_[msg.query];
    if (topic.data && topic.data->digest != msg.known) return News{topic.data};
    auto& waiter = topic.waiters[msg.follower];
    if (waiter.promise.pending()) waiter.promise.deliver(Error{Errc::cancelled, "asked anew"});
    waiter = {.known = msg.known, .promise = self_->make_response_promise<News>()};
    const auto promise = waiter.promise;
    if (!topic.busy) ask(msg.query, topic);
    return promise;
  }

  void unfollow(const Unfollow& msg) {
    const auto topic = topics_.find(msg.query);
    if (topic == topics_.end()) return;
    auto waiter = topic->second.waiters.extract(msg.follower);
    if (!waiter.empty() && waiter.mapped().promise.pending())
      waiter.mapped().promise.deliver(Error{Errc::cancelled, "not followed any more"});
    if (topic->second.waiters.empty() && !topic->second.busy) topics_.erase(topic);
  }

  void ask_again(const AskQueryAgain& msg) {
    const auto topic = topics_.find(msg.query);
    if (topic == topics_.end() || topic->second.number != msg.number) return;
    topic->second.busy = false;
    if (topic->second.waiters.empty())
      topics_.erase(topic);
    else
      ask(msg.query, topic->second);
  }

private:
  struct Waiter {
    std::uint64_t known = 0;
    actor::Promise<News> promise{};
  };

  struct Topic {
    ClusterDataPtr data{};
    std::map<std::uint64_t, Waiter> waiters{};  ///< By follower.
    std::uint32_t failed = 0;                   ///< Questions since the last that was answered.
    std::uint64_t number = 0;                   ///< Of the question, or of the wait for the next.
    bool busy = false;                          ///< There is either.
  };

  void ask(const TaskQuery& query, Topic& topic) {
    topic.busy = true;
    topic.number = ++last_;
    const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(
        options_.settings->block_query_wait);
    const auto known = topic.data ? topic.data->digest : 0;
    self_->request(options_.servers, wait + held_slack, question(query, known, wait))
        .then(
            [this, query, number = topic.number](const door::Reply& answer) {
              answered(query, number, answer);
            },
            [this, query, number = topic.number](const Error& err) { failed(query, number, err); });
  }

  door::Ask question(const TaskQuery& of,
                     std::uint64_t known,
                     std::chrono::milliseconds wait) const {
    return door::make_ask(options_.node_id, [&](auto& ask) {
      const auto& query = of.query;
      ask.setMaxWaitMs(static_cast<std::uint64_t>(wait.count()));
      auto data = ask.initWatchData();
      data.setKind(static_cast<std::uint8_t>(query.kind));
      data.setNamespace(text(query.name_space));
      data.setName(text(query.name));
      data.setTag(text(query.tag));
      data.setChoose(text(query.choose));
      data.setKnown(known);
      data.setAllocId(text(of.alloc_id));
      data.setTask(text(of.task));
    });
  }

  void answered(const TaskQuery& query, std::uint64_t number, const door::Reply& answer) {
    const auto found = topics_.find(query);
    if (found == topics_.end() || found->second.number != number) return;
    auto& topic = found->second;
    topic.busy = false;
    if (topic.waiters.empty()) {
      topics_.erase(found);
      return;
    }
    if (!topic.data || topic.data->digest != answer->getData().getDigest()) {
      auto data = read_cluster_data(query.query, answer);
      if (!data) return failed(query, number, data.error());
      topic.data = std::move(*data);
      tell(topic);
    }
    topic.failed = 0;
    failing_ = false;
    ask(query, topic);  // Who was told asks again, and misses nothing.
  }

  void tell(Topic& topic) {
    std::erase_if(topic.waiters, [&topic](const auto& entry) {
      if (entry.second.known == topic.data->digest) return false;
      entry.second.promise.deliver(News{topic.data});
      return true;
    });
  }

  void failed(const TaskQuery& query, std::uint64_t number, const Error& err) {
    const auto found = topics_.find(query);
    if (found == topics_.end() || found->second.number != number) return;
    auto& topic = found->second;
    if (!std::exchange(failing_, true))
      log::warn("client", "templates wait for the servers",
                {{"query", query.query.name}, {"error", err}});
    const auto delay = templates::retry_delay(options_.settings->retry, topic.failed++);
    if (delay) {
      topic.busy = true;
      actor::send_self_after(self_, *delay, AskQueryAgain{query, number});
      // Nobody but an operator can change that, who wants to know. Who hears it goes on following.
      if (err.code == Errc::permission_denied) tell(std::exchange(topic.waiters, {}), err);
      return;
    }
    tell(std::exchange(topic.waiters, {}), {Errc::timeout, err.what});
    topics_.erase(found);
  }

  static void tell(const std::map<std::uint64_t, Waiter>& waiters, const Error& error) {
    for (const auto& [follower, waiter] : waiters)
      waiter.promise.deliver(error);
  }

  WatcherSelf::pointer self_;
  DataWatcherOptions options_;
  std::map<TaskQuery, Topic> topics_;
  std::uint64_t last_ = 0;
  bool failing_ = false;  ///< Nothing was answered since somebody read of a failure.
};

WatcherSelf::behavior_type data_watcher_actor(WatcherSelf::stateful_pointer<WatcherState> self,
                                              const DataWatcherOptions& options) {
  self->state.init(options);
  return {
      [self](const Follow& msg) { return self->state.follow(msg); },
      [self](const Unfollow& msg) { self->state.unfollow(msg); },
      [self](const AskQueryAgain& msg) { self->state.ask_again(msg); },
  };
}

}  // namespace

Result<ClusterDataPtr> read_cluster_data(const ClusterQuery& query, const door::Reply& answer) {
  auto data = std::make_shared<ClusterData>();
  data->digest = answer->getData().getDigest();
  const auto rows = std::span{answer.rows};
  const auto services = std::min<std::size_t>(answer->getData().getServices(), rows.size());
  for (const auto& service :
       NOMAD_TRY(door::objects_of<schema::ServiceRegistration>(rows.first(services))))
    if (query.kind == Kind::services)
      data->names.push_back({copy(service->getServiceName()), texts_of(service->getTags())});
    else
      data->instances.push_back(service_instance(*service));
  for (const auto& variable :
       NOMAD_TRY(door::objects_of<schema::Variable>(rows.subspan(services)))) {
    if (query.kind == Kind::variables) {
      data->metas.push_back(variable_meta(*variable));
      continue;
    }
    templates::Variable whole{.meta = variable_meta(*variable), .items = {}};
    if (answer.secret)
      for (const auto& [key, value] : NOMAD_TRY(security::decode_items(*answer.secret)))
        whole.items.emplace(key, value);
    data->variable = std::move(whole);
  }
  return ClusterDataPtr{std::move(data)};
}

DataWatcher spawn_data_watcher(const actor::Owner& owner, DataWatcherOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, data_watcher_actor, std::move(options));
}

}  // namespace nomad::client
