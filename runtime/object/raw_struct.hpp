// Structs by their plan: scalars as bits in the data section, all else as pointers. For code that
// walks many fields of many structs, where Cap'n Proto's own reflection costs several look-ups
// each.
#pragma once

#include <cstring>
#include <string_view>

#include <capnp/any.h>

#include "runtime/object/flat_struct.hpp"
#include "runtime/object/plan.hpp"

namespace nomad::object {

/// The scalar at `slot`, in the low bits.
inline std::uint64_t load(const kj::byte* data, Slot slot) {
  if (slot.bits == 1) return data[slot.offset / 8] >> (slot.offset % 8) & 1U;
  std::uint64_t bits = 0;
  std::memcpy(&bits, data + slot.offset * (slot.bits / 8U), slot.bits / 8U);
  return bits;
}

/// Writes the low bits of `value`.
inline void store(kj::byte* data, Slot slot, std::uint64_t value) {
  if (slot.bits != 1) {
    std::memcpy(data + slot.offset * (slot.bits / 8U), &value, slot.bits / 8U);
    return;
  }
  const auto bit = static_cast<kj::byte>(1U << slot.offset % 8);
  kj::byte& byte = data[slot.offset / 8];
  byte = static_cast<kj::byte>(value != 0 ? byte | bit : byte & ~bit);
}

/// A builder's struct, which must be as long as its plan says. A handle: copies mean the same
/// struct.
class RawStruct {
public:
  RawStruct(capnp::AnyStruct::Builder any, const StructPlan& plan) : any_{any}, plan_{&plan} {}

  const StructPlan& plan() const { return *plan_; }

  capnp::AnyStruct::Builder any() const { return any_; }

  std::uint64_t load(Slot slot) const { return object::load(data(), slot); }

  void store(Slot slot, std::uint64_t value) { object::store(data(), slot, value); }

  capnp::AnyPointer::Builder pointer(Slot slot) const {
    return any().getPointerSection()[slot.offset];
  }

  /// Whether there is nothing behind a pointer. Pointers stand right behind the data, and null is
  /// 0.
  bool is_null(Slot slot) const { return load({plan_->data_words + slot.offset, 64}) == 0; }

  /// Which scalars were given: `FieldPlan::mark` of each.
  std::uint64_t marks() const { return plan_->has_marks ? load(marks_slot()) : 0; }

  void set_marks(std::uint64_t marks) {
    if (plan_->has_marks) store(marks_slot(), marks);
  }

private:
  kj::byte* data() const { return any().getDataSection().begin(); }

  Slot marks_slot() const { return {plan_->stored_data_words, 64}; }

  capnp::AnyStruct::Builder any_;
  const StructPlan* plan_;
};

/// A new struct behind `pointer`.
inline capnp::AnyStruct::Builder init_struct(capnp::AnyPointer::Builder pointer,
                                             const StructPlan& plan) {
  return pointer.initAsAnyStruct(plan.data_words, plan.pointer_count);
}

inline capnp::List<capnp::AnyStruct>::Builder init_structs(capnp::AnyPointer::Builder pointer,
                                                           const StructPlan& plan,
                                                           std::uint32_t count) {
  return pointer.initAsListOfAnyStruct(plan.data_words, plan.pointer_count, count);
}

/// Copies `text`, which may be of the same message but not behind `pointer`.
inline void set_text(capnp::AnyPointer::Builder pointer, std::string_view text) {
  auto target = pointer.initAs<capnp::Text>(static_cast<capnp::uint>(text.size()));
  if (!text.empty()) std::memcpy(target.begin(), text.data(), text.size());
}

}  // namespace nomad::object
