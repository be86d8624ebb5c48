#include "actors/server/data/data_endpoint.hpp"

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "actors/core/supervise.hpp"
#include "actors/core/turns.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/base/log.hpp"
#include "runtime/cluster/data/node_data.hpp"
#include "runtime/cluster/data/stored_rights.hpp"

namespace nomad::server {
namespace {

using namespace std::chrono_literals;
using cluster::TaskOfNode;
using templates::ClusterQuery;

/// How long changes of what takes many rows are gathered.
constexpr auto gathering = 50ms;

/// The changes of what topic `number` is about have been gathered.
struct TopicDue {
  using is_message = void;
  std::uint64_t number = 0;
};

/// A question has been held as long as its node wanted.
struct QuestionOver {
  using is_message = void;
  std::uint64_t topic = 0;
  TaskOfNode asker;
  std::uint64_t question = 0;
};

using DataSelf = actor::WithInternal<NodeDoor, void(TopicDue), void(QuestionOver)>;

ClusterQuery query_of(schema::door::DataQuery::Reader from) {
  return {.kind = static_cast<ClusterQuery::Kind>(from.getKind()),
          .name_space = copy(from.getNamespace()),
          .name = copy(from.getName()),
          .tag = copy(from.getTag()),
          .choose = copy(from.getChoose())};
}

/// Nothing is new.
door::Reply nothing_new(std::uint64_t digest) {
  return door::make_reply(0, [&](auto& reply) { reply.initData().setDigest(digest); });
}

/// A variable without what it holds.
Object<schema::Variable> without_data(schema::Variable::Reader variable) {
  Draft<schema::Variable> draft;
  draft->setNamespace(variable.getNamespace());
  draft->setPath(variable.getPath());
  draft->setCreateTime(variable.getCreateTime());
  draft->setModifyTime(variable.getModifyTime());
  draft->setCreateIndex(variable.getCreateIndex());
  draft->setModifyIndex(variable.getModifyIndex());
  return draft.freeze();
}

class DataState {
public:
  static constexpr const char* name = "data_endpoint";

  explicit DataState(DataSelf::pointer self) : self_{self} {}

  void init(std::shared_ptr<state::Store> store,
            std::shared_ptr<security::Keyring> keyring,
            std::shared_ptr<const raft::LeaderLease> lease,
            bool enforces) {
    store_ = std::move(store);
    keyring_ = std::move(keyring);
    lease_ = std::move(lease);
    if (enforces) rights_ = std::make_unique<access::RightsCache>();
  }

  actor::Answer<door::Reply> answer(const door::Ask& msg) {
    if (!msg->isWatchData())
      return Error{Errc::internal, "that question is not the data endpoint's"};
    const auto query = query_of(msg->getWatchData());
    if (static_cast<std::uint8_t>(query.kind) < 1 || query.kind > ClusterQuery::last_kind)
      return Error{Errc::invalid_argument, "templates can't follow that"};
    const TaskOfNode asker{msg.subject(), copy(msg->getWatchData().getAllocId()),
                           copy(msg->getWatchData().getTask())};
    const auto known = msg->getWatchData().getKnown();
    auto& topic = topic_of(query);
    end(topic, asker);
    const auto snapshot = store_->snapshot();
    const auto read = read_for(snapshot, query, asker);
    if (!read || cluster::digest_of(*read) != known) return answer_now(query, snapshot, read);
    auto& held = held_[asker.node_id];
    if (held >= most_node_questions) {
      forget_if_idle(query);
      return Error{Errc::overloaded, "the node follows too much"};
    }
    ++held;
    Question question{.number = ++last_, .known = known};
    question.promise = self_->make_response_promise<door::Reply>();
    const auto promise = question.promise;
    question.end = actor::send_self_after(self_, msg.max_wait(),
                                          QuestionOver{topic.number, asker, question.number});
    topic.questions.insert_or_assign(asker, std::move(question));
    return promise;
  }

  void touched(std::uint64_t number) {
    const auto found = by_number_.find(number);
    if (found == by_number_.end()) return;
    auto& topic = topics_.at(found->second);
    if (!cluster::reads_many(found->second)) return look(found->second, topic);
    if (std::exchange(topic.gathers, true)) return;
    actor::send_self_after(self_, gathering, TopicDue{number});
  }

  void due(std::uint64_t number) {
    const auto found = by_number_.find(number);
    if (found == by_number_.end()) return;
    auto& topic = topics_.at(found->second);
    topic.gathers = false;
    look(found->second, topic);
  }

  void over(const QuestionOver& msg) {
    const auto found = by_number_.find(msg.topic);
    if (found == by_number_.end()) return;
    const auto query = found->second;
    auto& topic = topics_.at(query);
    const auto question = topic.questions.find(msg.asker);
    if (question == topic.questions.end() || question->second.number != msg.question) return;
    end(topic, msg.asker);
    forget_if_idle(query);
  }

private:
  struct Question {
    std::uint64_t number = 0;
    std::uint64_t known = 0;
    actor::Promise<door::Reply> promise{};
    actor::Timer end{};
  };

  struct Topic {
    std::uint64_t number = 0;
    bool gathers = false;  ///< TopicDue comes.
    state::Watches::Subscription subscription{};
    std::map<TaskOfNode, Question> questions{};
  };

  /// What all hear who have the same rights.
  struct Seen {
    Result<cluster::NodeData> data;
    std::uint64_t digest = 0;
    std::optional<Result<door::Reply>> reply{};  ///< Made when somebody needs it.
  };

  /// By which a task is answered.
  Result<access::RightsRef> rights_of(const state::Snapshot& snapshot, const TaskOfNode& asker) {
    if (!rights_) return access::Rights::everything();
    return cluster::rights_of_task(snapshot, asker, *rights_);
  }

  Result<cluster::NodeData> read_for(const state::Snapshot& snapshot,
                                     const ClusterQuery& query,
                                     const TaskOfNode& asker) {
    const auto rights = NOMAD_TRY(rights_of(snapshot, asker));
    return cluster::for_rights(NOMAD_TRY(cluster::read_node_data(snapshot, query)), query, *rights);
  }

  /// Watched from before whatever is read of it next.
  Topic& topic_of(const ClusterQuery& query) {
    const auto [location, is_new] = topics_.try_emplace(query);
    auto& topic = location->second;
    if (is_new) {
      topic.number = ++last_;
      by_number_.emplace(topic.number, query);
    }
    if (!topic.subscription.active() && !topic.gathers) subscribe(query, topic);
    return topic;
  }

  void subscribe(const ClusterQuery& query, Topic& topic) {
    std::vector<state::WatchKey> watched{cluster::node_data_watch(query)};
    // A policy that is attached, changed or removed changes what tasks may read.
    if (rights_) watched.push_back(state::watch_prefix(state::Table::acl_policies, ""));
    topic.subscription = store_->watches().subscribe(
        std::move(watched), turns_.callback([this, number = topic.number] { touched(number); }));
  }

  actor::Answer<door::Reply> answer_now(const ClusterQuery& query,
                                        const state::Snapshot& snapshot,
                                        const Result<cluster::NodeData>& read) {
    auto data = read ? reply_of(snapshot, query, *read) : Result<door::Reply>{read.error()};
    forget_if_idle(query);
    if (lease_ && !lease_->holds()) return no_leader();  // Asked after the snapshot was taken.
    return actor::answer(std::move(data));
  }

  Result<door::Reply> reply_of(const state::Snapshot& snapshot,
                               const ClusterQuery& query,
                               const cluster::NodeData& read) const {
    auto rows = door::rows_of(read.services);
    for (const auto& variable : read.variables)
      rows.emplace_back(without_data(*variable));
    auto answer = door::make_reply(
        snapshot.index(),
        [&](auto& reply) {
          auto data = reply.initData();
          data.setDigest(cluster::digest_of(read));
          data.setServices(static_cast<std::uint32_t>(read.services.size()));
        },
        std::move(rows));
    if (query.kind != ClusterQuery::Kind::variable || read.variables.empty()) return answer;
    const auto& variable = read.variables.front();
    if (variable->getKeyId().size() == 0) return answer;
    if (!keyring_) return Error{Errc::unavailable, "this server has no keyring"};
    auto items
        = NOMAD_TRY(keyring_->open_variable(snapshot.root_key(view(variable->getKeyId())), variable)
                        .within("variable error: decrypt"));
    answer.secret = std::make_shared<const security::Secret>(std::move(items));
    return answer;
  }

  /// Answers whoever waits for something else than what there is now.
  void look(const ClusterQuery& query, Topic& topic) {
    subscribe(query, topic);
    const auto snapshot = store_->snapshot();
    const auto whole = cluster::read_node_data(snapshot, query);
    std::map<access::RightsRef, Seen> seen;
    for (auto at = topic.questions.begin(); at != topic.questions.end();) {
      auto& [asker, question] = *at;
      const auto rights = rights_of(snapshot, asker);
      auto* const own = rights ? &seen_by(*rights, query, whole, seen) : nullptr;
      if (own != nullptr && own->digest == question.known) {
        ++at;
        continue;
      }
      Result<door::Reply> reply = no_leader();
      if (!lease_ || lease_->holds())
        reply = own != nullptr ? reply_once(snapshot, query, *own) : rights.error();
      release(asker.node_id, question);
      actor::answer(question.promise, std::move(reply));
      at = topic.questions.erase(at);
    }
    forget_if_idle(query);
  }

  /// What of `whole` those with these rights may have.
  static Seen& seen_by(const access::RightsRef& rights,
                       const ClusterQuery& query,
                       const Result<cluster::NodeData>& whole,
                       std::map<access::RightsRef, Seen>& seen) {
    if (const auto known = seen.find(rights); known != seen.end()) return known->second;
    auto data = whole ? cluster::for_rights(*whole, query, *rights) : whole;
    const auto digest = data ? cluster::digest_of(*data) : 0;
    return seen.emplace(rights, Seen{.data = std::move(data), .digest = digest}).first->second;
  }

  Result<door::Reply> reply_once(const state::Snapshot& snapshot,
                                 const ClusterQuery& query,
                                 Seen& seen) const {
    if (!seen.data) return seen.data.error();
    if (!seen.reply) seen.reply = reply_of(snapshot, query, *seen.data);
    return *seen.reply;
  }

  void end(Topic& topic, const TaskOfNode& asker) {
    auto question = topic.questions.extract(asker);
    if (question.empty()) return;
    release(asker.node_id, question.mapped());
    question.mapped().promise.deliver(nothing_new(question.mapped().known));
  }

  void release(const std::string& node_id, const Question& question) {
    self_->cancel(question.end);
    const auto held = held_.find(node_id);
    if (held != held_.end() && --held->second == 0) held_.erase(held);
  }

  void forget_if_idle(ClusterQuery query) {  // By value: it may be the key.
    const auto found = topics_.find(query);
    if (found == topics_.end() || !found->second.questions.empty()) return;
    by_number_.erase(found->second.number);
    topics_.erase(found);
  }

  DataSelf::pointer self_;
  Turns turns_ = actor::turns_of(self_);
  std::shared_ptr<state::Store> store_;
  std::shared_ptr<security::Keyring> keyring_;
  std::shared_ptr<const raft::LeaderLease> lease_;  ///< None: always ours.
  std::unique_ptr<access::RightsCache> rights_;     ///< Null: everybody may read everything.
  std::map<ClusterQuery, Topic> topics_;
  std::unordered_map<std::uint64_t, ClusterQuery> by_number_;
  std::unordered_map<std::string, std::size_t> held_;  ///< Open questions, by node.
  std::uint64_t last_ = 0;
};

DataSelf::behavior_type data_endpoint(DataSelf::stateful_pointer<DataState> self,
                                      const std::shared_ptr<state::Store>& store,
                                      const std::shared_ptr<security::Keyring>& keyring,
                                      const std::shared_ptr<const raft::LeaderLease>& lease,
                                      bool enforces) {
  self->state.init(store, keyring, lease, enforces);
  return {
      [self](const door::Ask& msg) { return self->state.answer(msg); },
      [self](TopicDue msg) { self->state.due(msg.number); },
      [self](const QuestionOver& msg) { self->state.over(msg); },
  };
}

}  // namespace

NodeDoor spawn_data_endpoint(const actor::Owner& owner,
                             std::shared_ptr<state::Store> store,
                             std::shared_ptr<security::Keyring> keyring,
                             std::shared_ptr<const raft::LeaderLease> lease,
                             bool enforces) {
  return actor::spawn<actor::Policy::restart>(owner, data_endpoint, std::move(store),
                                              std::move(keyring), std::move(lease), enforces);
}

}  // namespace nomad::server
