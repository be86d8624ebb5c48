#include "runtime/object/object.hpp"

#include <cstdint>
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
  for (const auto position : plan.pointers) {
    const auto& field = plan.fields[position];
    if (value.has(field.field)) touch(value.get(field.field), field.value);
  }
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
    case Shape::duration_text:
    case Shape::enumeration:
    case Shape::optional:
      return;
  }
}

constexpr const char* malformed = "the bytes are not a well-formed object";

bool is_aligned(std::span<const std::byte> bytes) {
  return reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(capnp::word) == 0;
}

/// Gives `take` the root of `bytes` after a checked pass over all that `schema` knows there. `take`
/// reads through the same checks.
template <class Take>
Result<> read_checked(std::span<const std::byte> bytes, capnp::StructSchema schema, Take take) {
  const auto count = bytes.size() / sizeof(capnp::word);
  if (bytes.empty() || bytes.size() % sizeof(capnp::word) != 0)
    return Error{Errc::corrupt, malformed};
  const auto* words = reinterpret_cast<const capnp::word*>(bytes.data());
  kj::Array<capnp::word> copied;  // the reader wants aligned words
  if (!is_aligned(bytes)) {
    copied = kj::heapArray<capnp::word>(count);
    std::memcpy(copied.begin(), bytes.data(), bytes.size());
    words = copied.begin();
  }
  const kj::ArrayPtr<const capnp::word> segment{words, count};
  try {
    capnp::ReaderOptions limits;
    limits.traversalLimitInWords = 8 * count + 64;  // shared pointers would amplify: refused
    limits.nestingLimit = 64;
    capnp::SegmentArrayMessageReader reader{kj::arrayPtr(&segment, 1), limits};
    touch_struct(reader.getRoot<capnp::DynamicStruct>(schema), object::plan_of(schema));
    take(reader.getRoot<capnp::AnyStruct>());
  } catch (const kj::Exception& failure) {
    return Error{Errc::corrupt, std::string{malformed} + ": " + failure.getDescription().cStr()};
  }
  return {};
}

}  // namespace

Block* Block::make(std::size_t count) {
  void* memory = std::calloc(1, sizeof(Block) + count * sizeof(capnp::word));
  if (memory == nullptr) throw std::bad_alloc{};
  return new (memory) Block{1, count};
}

Result<Block*> Block::from_bytes(std::span<const std::byte> bytes, capnp::StructSchema schema) {
  Block* block = nullptr;
  NOMAD_TRY(read_checked(bytes, schema, [&block](auto root) { block = freeze(root); }));
  return block;
}

Result<> Block::check(std::span<const std::byte> bytes, capnp::StructSchema schema) {
  if (!is_aligned(bytes))
    return Error{Errc::corrupt, "the object's bytes are not aligned to words"};
  // What the schema does not know is checked by walking through it for its size; far pointers,
  // which only checked reading follows, by doing so once more as it will be read.
  return read_checked(bytes, schema, [&bytes](auto root) {
    static_cast<void>(root.totalSize());
    const auto* words = reinterpret_cast<const capnp::word*>(bytes.data());
    static_cast<void>(capnp::readMessageUnchecked<capnp::AnyPointer>(words).targetSize());
  });
}

void Block::release() noexcept {
  if (references.fetch_sub(1, std::memory_order_acq_rel) == 1) std::free(this);
}

}  // namespace nomad::detail
