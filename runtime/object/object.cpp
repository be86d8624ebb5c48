#include "runtime/object/object.hpp"

#include <cstdlib>
#include <new>

#include <capnp/dynamic.h>
#include <kj/exception.h>

#include "runtime/object/plan.hpp"

namespace nomad::detail {
namespace {

using object::Shape;

void touch(const capnp::DynamicValue::Reader& value, const object::ValuePlan& plan);

/// Reads every pointer that the schema knows, so that none is of a wrong kind afterwards.
void touch_struct(capnp::DynamicStruct::Reader value, const object::StructPlan& plan) {
  for (const auto& field : plan.fields)
    if (value.has(field.field)) touch(value.get(field.field), field.value);
}

void touch(const capnp::DynamicValue::Reader& value, const object::ValuePlan& plan) {
  switch (plan.shape) {
    case Shape::object:
      touch_struct(value.as<capnp::DynamicStruct>(), *plan.fields);
      return;
    case Shape::map:
      for (auto entry : value.as<capnp::DynamicList>())
        touch_struct(entry.as<capnp::DynamicStruct>(), *plan.fields);
      return;
    case Shape::list:
      for (auto element : value.as<capnp::DynamicList>())
        touch(element, *plan.element);
      return;
    case Shape::text:
    case Shape::secret_text:
    case Shape::raw_json:
    case Shape::base64:  // `get` has checked these
    case Shape::boolean:
    case Shape::signed_number:
    case Shape::unsigned_number:
    case Shape::real:
    case Shape::timestamp:
    case Shape::duration:
    case Shape::enumeration:
    case Shape::optional:
      return;
  }
}

}  // namespace

Block* Block::make(std::size_t count) {
  void* memory = std::calloc(1, sizeof(Block) + count * sizeof(capnp::word));
  if (memory == nullptr) throw std::bad_alloc{};
  return new (memory) Block{1, count};
}

Block* Block::freeze(capnp::AnyStruct::Reader source) {
  auto* block = make(source.totalSize().wordCount + 1);  // one for the root pointer
  capnp::copyToUnchecked(source, kj::arrayPtr(block->words(), block->count));
  return block;
}

Result<Block*> Block::from_bytes(std::span<const std::byte> bytes, capnp::StructSchema schema) {
  const Error malformed{Errc::corrupt, "the bytes are not a well-formed object"};
  if (bytes.empty() || bytes.size() % sizeof(capnp::word) != 0) return malformed;
  // The reader wants aligned words, and stored bytes need not be aligned.
  auto* raw = make(bytes.size() / sizeof(capnp::word));
  std::memcpy(raw->words(), bytes.data(), bytes.size());
  const kj::ArrayPtr<const capnp::word> segment{raw->words(), raw->count};
  Result<Block*> outcome = malformed;
  try {
    capnp::ReaderOptions limits;
    limits.traversalLimitInWords = 8 * raw->count + 64;  // shared pointers would amplify: refused
    limits.nestingLimit = 64;
    capnp::SegmentArrayMessageReader reader{kj::arrayPtr(&segment, 1), limits};
    auto root = reader.getRoot<capnp::DynamicStruct>(schema);
    touch_struct(root, object::plan_of(schema));
    outcome = freeze(reader.getRoot<capnp::AnyStruct>());
  } catch (const kj::Exception& failure) {
    outcome = Error{Errc::corrupt,
                    std::string{malformed.what} + ": " + failure.getDescription().cStr()};
  }
  raw->release();
  return outcome;
}

void Block::release() noexcept {
  if (references.fetch_sub(1, std::memory_order_acq_rel) == 1) std::free(this);
}

}  // namespace nomad::detail
