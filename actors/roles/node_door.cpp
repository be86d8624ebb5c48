#include "actors/roles/node_door.hpp"

#include <array>
#include <stdexcept>

#include <capnp/message.h>

#include "actors/roles/node_questions.hpp"

namespace nomad::door {
namespace {

using schema::door::Parcel;

constexpr auto freely = Repeat::freely;

/// By the question's number.
constexpr std::array table{
    QuestionInfo{Question::REGISTER, "register", Answer::LEASE, Asker::anyone, Serve::leader,
                 freely, true, ServerActor::heartbeat_tracker, true},
    QuestionInfo{Question::HEARTBEAT, "heartbeat", Answer::LEASE, Asker::node, Serve::leader,
                 freely, true, ServerActor::heartbeat_tracker, true},
    QuestionInfo{Question::WATCH_ALLOCS, "watchAllocs", Answer::ALLOCS, Asker::node,
                 Serve::leader_lease, freely, false, ServerActor::node_endpoint, false},
    QuestionInfo{Question::UPDATE_ALLOCS, "updateAllocs", Answer::DONE, Asker::node, Serve::leader,
                 freely, true, ServerActor::node_endpoint, false},
    QuestionInfo{Question::REGISTER_SERVICES, "registerServices", Answer::DONE, Asker::node,
                 Serve::leader, freely, false, ServerActor::node_endpoint, false},
    QuestionInfo{Question::DEREGISTER_SERVICES, "deregisterServices", Answer::DONE, Asker::node,
                 Serve::leader, freely, false, ServerActor::node_endpoint, false},
    QuestionInfo{Question::EMIT_EVENTS, "emitEvents", Answer::DONE, Asker::node, Serve::leader,
                 freely, false, ServerActor::node_endpoint, false},
    QuestionInfo{Question::DRAIN, "drain", Answer::DRAIN, Asker::node, Serve::leader, freely, false,
                 ServerActor::node_endpoint, false},
    QuestionInfo{Question::AWAIT_PREVIOUS, "awaitPrevious", Answer::PREVIOUS, Asker::proven_node,
                 Serve::leader_lease, freely, false, ServerActor::node_endpoint, false},
    QuestionInfo{Question::WATCH_DATA, "watchData", Answer::DATA, Asker::proven_node,
                 Serve::leader_lease, freely, false, ServerActor::data_endpoint, false},
    QuestionInfo{Question::SIGN_IDENTITIES, "signIdentities", Answer::IDENTITIES,
                 Asker::proven_node, Serve::leader_lease, freely, false,
                 ServerActor::identity_endpoint, false},
    QuestionInfo{Question::CLAIM_VOLUME, "claimVolume", Answer::CLAIMED_VOLUME, Asker::proven_node,
                 Serve::leader_lease, freely, false, ServerActor::volume_endpoint, false},
    QuestionInfo{Question::UNPUBLISH_VOLUME, "unpublishVolume", Answer::DONE, Asker::proven_node,
                 Serve::leader, freely, false, ServerActor::volume_endpoint, false},
};

/// What servers ask of nodes, likewise.
constexpr std::array node_table{
    NodeQuestionInfo{NodeQuestion::RESTART_TASKS, "restartTasks", NodeAnswer::DONE,
                     access::Capability::alloc_lifecycle, Repeat::if_surely_unsent,
                     actor::Priority::normal, ClientActor::alloc_runner},
    NodeQuestionInfo{NodeQuestion::SIGNAL_TASKS, "signalTasks", NodeAnswer::DONE,
                     access::Capability::alloc_lifecycle, Repeat::if_surely_unsent,
                     actor::Priority::normal, ClientActor::alloc_runner},
    NodeQuestionInfo{NodeQuestion::COLLECT_ALLOC, "collectAlloc", NodeAnswer::DONE,
                     access::Capability::submit_job, Repeat::if_surely_unsent,
                     actor::Priority::normal, ClientActor::allocs},
    NodeQuestionInfo{NodeQuestion::COLLECT_GARBAGE, "collectGarbage", NodeAnswer::DONE,
                     access::Capability::node_write, freely, actor::Priority::normal,
                     ClientActor::allocs},
    NodeQuestionInfo{NodeQuestion::READ_META, "readMeta", NodeAnswer::META,
                     access::Capability::node_read, freely, actor::Priority::normal,
                     ClientActor::metadata},
    NodeQuestionInfo{NodeQuestion::APPLY_META, "applyMeta", NodeAnswer::META,
                     access::Capability::node_write, freely, actor::Priority::normal,
                     ClientActor::metadata},
    NodeQuestionInfo{NodeQuestion::READ_ALLOC_USAGE, "readAllocUsage", NodeAnswer::ALLOC_USAGE,
                     access::Capability::read_job, freely, actor::Priority::normal,
                     ClientActor::allocs},
    NodeQuestionInfo{NodeQuestion::READ_CHECKS, "readChecks", NodeAnswer::CHECKS,
                     access::Capability::read_job, freely, actor::Priority::normal,
                     ClientActor::allocs},
    NodeQuestionInfo{NodeQuestion::READ_HOST_USAGE, "readHostUsage", NodeAnswer::HOST_USAGE,
                     access::Capability::node_read, freely, actor::Priority::normal,
                     ClientActor::metrics},
    NodeQuestionInfo{NodeQuestion::READ_IDENTITIES, "readIdentities", NodeAnswer::IDENTITIES,
                     access::Capability::read_job, freely, actor::Priority::normal,
                     ClientActor::allocs},
    NodeQuestionInfo{NodeQuestion::READ_USAGE_HISTORY, "readUsageHistory",
                     NodeAnswer::USAGE_HISTORY, access::Capability::read_job, freely,
                     actor::Priority::normal, ClientActor::alloc_runner},
    NodeQuestionInfo{NodeQuestion::READ_HOST_USAGE_HISTORY, "readHostUsageHistory",
                     NodeAnswer::USAGE_HISTORY, access::Capability::node_read, freely,
                     actor::Priority::normal, ClientActor::metrics},
    NodeQuestionInfo{NodeQuestion::PAUSE_TASK, "pauseTask", NodeAnswer::DONE,
                     access::Capability::submit_job, freely, actor::Priority::normal,
                     ClientActor::alloc_runner},
    NodeQuestionInfo{NodeQuestion::READ_PAUSE, "readPause", NodeAnswer::SCHEDULE_STATE,
                     access::Capability::read_job, freely, actor::Priority::normal,
                     ClientActor::alloc_runner},
    NodeQuestionInfo{NodeQuestion::CSI_CONTROLLER, "csiController", NodeAnswer::CSI_CONTROLLER,
                     access::Capability::none, freely, actor::Priority::normal,
                     ClientActor::volumes, csi_patience},
    NodeQuestionInfo{NodeQuestion::CSI_NODE, "csiNode", NodeAnswer::CSI_NODE,
                     access::Capability::none, freely, actor::Priority::normal,
                     ClientActor::volumes, csi_patience},
};

template <class Table>
constexpr bool is_by_number(const Table& rows) {
  std::uint16_t number = 0;
  for (const auto& row : rows)
    if (static_cast<std::uint16_t>(row.question) != number++) return false;
  return true;
}

static_assert(is_by_number(table) && is_by_number(node_table),
              "each question has its row, at its place");

constexpr capnp::uint segment_words(std::size_t bytes) {
  return static_cast<capnp::uint>((bytes + sizeof(capnp::word) - 1) / sizeof(capnp::word));
}

/// In one segment of the size that it needs, which is what is sent.
Bytes pack(std::span<const std::byte> message,
           const Rows& rows,
           std::span<const std::byte> secret) {
  constexpr capnp::uint fixed_words = 8;  // The root, its pointers, and the list's tag.
  capnp::uint words = fixed_words + segment_words(message.size()) + segment_words(secret.size());
  for (const auto& row : rows)
    words += 1 + segment_words(row.bytes().size());
  auto builder
      = std::make_shared<capnp::MallocMessageBuilder>(words, capnp::AllocationStrategy::FIXED_SIZE);
  const auto data = [](std::span<const std::byte> bytes) {
    return capnp::Data::Reader{reinterpret_cast<const capnp::byte*>(bytes.data()), bytes.size()};
  };
  auto parcel = builder->initRoot<Parcel>();
  parcel.setMessage(data(message));
  auto list = parcel.initRows(static_cast<capnp::uint>(rows.size()));
  for (capnp::uint position = 0; position < list.size(); ++position)
    list.set(position, data(rows[position].bytes()));
  if (!secret.empty()) parcel.setSecret(data(secret));
  const auto segment = builder->getSegmentsForOutput().front();
  return {std::move(builder), std::as_bytes(std::span{segment.begin(), segment.size()})};
}

Bytes aligned(const Bytes& bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  return address % sizeof(capnp::word) == 0 ? bytes : Bytes::copy(bytes.view());
}

std::span<const std::byte> view(capnp::Data::Reader data) {
  return std::as_bytes(std::span{data.begin(), data.size()});
}

/// A Parcel taken apart.
template <class Message>
struct Opened {
  Object<Message> message;
  Rows rows;
  std::shared_ptr<const security::Secret> secret;
};

template <class Message>
Result<Opened<Message>> open(const Bytes& received) {
  const auto bytes = aligned(received);
  NOMAD_TRY(Object<Parcel>::check(bytes.view()));
  const auto parcel
      = capnp::readMessageUnchecked<Parcel>(reinterpret_cast<const capnp::word*>(bytes.data()));
  Opened<Message> opened{NOMAD_TRY(Object<Message>::from_bytes(view(parcel.getMessage()))), {}, {}};
  opened.rows.reserve(parcel.getRows().size());
  for (const auto row : parcel.getRows()) {
    const auto part = view(row);
    const auto offset = static_cast<std::size_t>(part.data() - bytes.data());
    opened.rows.push_back(
        AnyObject::from_elsewhere(part.empty() ? Bytes{} : bytes.slice(offset, part.size())));
  }
  if (parcel.hasSecret())
    opened.secret = std::make_shared<const security::Secret>(
        security::Secret::copy_of(view(parcel.getSecret())));
  return opened;
}

}  // namespace

const QuestionInfo* find_question(Question question) {
  const auto number = static_cast<std::size_t>(question);
  return number < table.size() ? &table[number] : nullptr;
}

const QuestionInfo& info(const Ask& ask) {
  const auto* found = find_question(ask->which());
  if (found == nullptr) throw std::logic_error{"a question that the table does not have"};
  return *found;
}

const NodeQuestionInfo* find_question(NodeQuestion question) {
  const auto number = static_cast<std::size_t>(question);
  return number < node_table.size() ? &node_table[number] : nullptr;
}

const NodeQuestionInfo& info(const NodeAsk& ask) {
  const auto* found = find_question(ask->which());
  if (found == nullptr) throw std::logic_error{"a question that the table does not have"};
  return *found;
}

bool is_urgent(const Ask& ask) {
  return info(ask).urgent && !ask->getMayWait();
}

Bytes pack(const Ask& ask) {
  return pack(ask.object.bytes(), ask.rows, {});
}

Bytes pack(const Reply& reply) {
  return pack(reply.object.bytes(), reply.rows,
              reply.secret ? reply.secret->bytes() : std::span<const std::byte>{});
}

Bytes pack(const NodeAsk& ask) {
  return pack(ask.object.bytes(), ask.rows, {});
}

Bytes pack(const NodeReply& reply) {
  return pack(reply.object.bytes(), reply.rows, {});
}

Result<NodeAsk> unpack_node_ask(const Bytes& bytes, access::Principal who) {
  auto opened = NOMAD_TRY(open<schema::door::NodeAsk>(bytes));
  return NodeAsk{std::move(opened.message), std::move(who), std::move(opened.rows)};
}

Result<NodeReply> unpack_node_reply(const Bytes& bytes) {
  auto opened = NOMAD_TRY(open<schema::door::NodeReply>(bytes));
  return NodeReply{std::move(opened.message), std::move(opened.rows)};
}

Result<Ask> unpack_ask(const Bytes& bytes) {
  auto opened = NOMAD_TRY(open<schema::door::Ask>(bytes));
  return Ask{std::move(opened.message), std::move(opened.rows)};
}

Result<Reply> unpack_reply(const Bytes& bytes) {
  auto opened = NOMAD_TRY(open<schema::door::Reply>(bytes));
  return Reply{std::move(opened.message), std::move(opened.rows), std::move(opened.secret)};
}

}  // namespace nomad::door
