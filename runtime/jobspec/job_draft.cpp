#include "runtime/jobspec/job_draft.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <kj/exception.h>

#include "runtime/base/base64.hpp"
#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/schema.hpp"
#include "runtime/object/json_codec.hpp"
#include "runtime/object/meaning.hpp"

namespace nomad::jobspec {

namespace {

using boost::json::array;
using boost::json::value;

/// Deeper than requests may be, as deep as job files.
constexpr std::size_t tree_depth = 400;

/// What may become blocks with defaults of their own: objects, and elements of lists without a
/// value.
std::size_t blocks_in(const JsonNode& node) {
  std::size_t count = 0;
  if (node.is(JsonKind::object)) {
    count = 1;
    for (const auto& member : node.members())
      count += blocks_in(member.value);
  } else if (node.is(JsonKind::array)) {
    for (const JsonNode& element : node.elements())
      count += element.is(JsonKind::null) ? 1 : blocks_in(element);
  }
  return count;
}

/// A draft's first segment: a small job takes some 400 words with its defaults, a large one six for
/// each of its values. Whatever is more gets segments of its own.
std::size_t words_for(const JsonNode& job) {
  constexpr std::size_t most = std::size_t{1} << 16U;
  return std::min(512 + std::size_t{job.extent} * 6, most);
}

array texts_of(DraftBlock::Texts texts) {
  array out;
  for (const auto text : texts)
    out.emplace_back(boost::json::string_view{text.begin(), text.size()});
  return out;
}

value blocks_of(const DraftBlocks& blocks, const BlockType& type) {
  array out;
  for (const DraftBlock block : blocks)
    out.emplace_back(tree_of(block, type));
  return out;
}

/// A map, whose values `each` makes of its entries.
value map_of(const DraftBlocks& entries, auto each) {
  boost::json::object out;
  for (const DraftBlock entry : entries)
    out.emplace(entry.text("Key"), each(entry));
  return out;
}

value tree_of(const DraftBlock& block, const Field& field) {
  const auto& plan = *field.plan;
  switch (field.kind) {
    case Kind::text:
      return value(block.text(plan));
    case Kind::boolean:
      return block.number(plan) != 0;
    case Kind::integer:
    case Kind::int64:
    case Kind::int8:
    case Kind::duration:
      return block.number(plan);
    case Kind::uint8:
    case Kind::uint64:
      return static_cast<std::uint64_t>(block.number(plan));
    case Kind::texts:
      return texts_of(block.texts(plan));
    case Kind::bytes: {
      const auto bytes = block.bytes(plan);
      return value(encode_base64({reinterpret_cast<const char*>(bytes.begin()), bytes.size()}));
    }
    case Kind::block:
      return tree_of(block.child(plan), *field.block);
    case Kind::blocks:
      return blocks_of(block.list(plan), *field.block);
    case Kind::block_map:
      return map_of(block.list(plan), [&](const DraftBlock& entry) {
        return tree_of(entry.child("Value"), *field.block);
      });
    case Kind::text_map:
      return map_of(block.list(plan), [](const DraftBlock& entry) { return entry.text("Value"); });
    case Kind::texts_map:
      return map_of(block.list(plan), [](const DraftBlock& entry) {
        return entry.has("Value") ? value(texts_of(entry.texts("Value"))) : value(nullptr);
      });
    case Kind::free_map: {
      boost::json::parse_options limits;
      limits.max_depth = tree_depth;
      return boost::json::parse(block.text(plan), {}, limits);  // we wrote it
    }
  }
  return nullptr;
}

}  // namespace

JobDraft::JobDraft(std::size_t words)
    : message_{std::make_unique<capnp::MallocMessageBuilder>(static_cast<capnp::uint>(words))},
      job_{init_struct(message_->getRoot<capnp::AnyPointer>(), *block_types().job.plan),
           *block_types().job.plan} {}

Result<JobDraft> JobDraft::decode(const JsonNode& job, std::string_view path) {
  if (const auto blocks = blocks_in(job); blocks > most_blocks)
    return Error{Errc::too_large,
                 fmt::format("the job has {} blocks, at most {} are taken; make several jobs of it",
                             blocks, most_blocks)};
  try {
    JobDraft draft{words_for(job)};
    NOMAD_TRY(decode_json(job, draft.job_.any(), *block_types().job.plan, path));
    return draft;
  } catch (const kj::Exception& failure) {  // a list of 4 GiB
    return Error{Errc::invalid_argument,
                 std::string{"the job is too large: "} + failure.getDescription().cStr()};
  }
}

Result<JobDraft> JobDraft::decode(const boost::json::object& job, std::string_view path) {
  return decode(FlatJson::of(job).root(), path);
}

Object<schema::Job> JobDraft::freeze() const {
  nomad::object::drop_empty(job_.any(), *block_types().job.plan);
  return Object<schema::Job>::freeze(job_.any(), *block_types().job.plan, message_->sizeInWords());
}

boost::json::object tree_of(const DraftBlock& block, const BlockType& type) {
  boost::json::object out;
  out.reserve(type.fields.size());
  for (const Field& field : type.fields)
    if (block.has(*field.plan)) out.emplace(field.json, tree_of(block, field));
  return out;
}

Result<boost::json::object> canonical_tree(const boost::json::object& job) {
  auto draft = NOMAD_TRY(JobDraft::decode(job));
  canonicalize(draft.job());
  return tree_of(draft.job(), block_types().job);
}

}  // namespace nomad::jobspec
