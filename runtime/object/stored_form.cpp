// Freezing: the flat words of what is stored, written in one walk. Structs are stored up to the
// last word of each section that is not zero, which Cap'n Proto reads as if the rest were there:
// most fields of most objects are not set, and every row, log entry and message is made here.
#include <algorithm>
#include <cstring>
#include <memory>

#include <kj/debug.h>

#include "runtime/object/object.hpp"
#include "runtime/object/plan.hpp"

namespace nomad::detail {

namespace {

using object::Shape;
using object::StructPlan;
using object::ValuePlan;

// How pointers are encoded, from Cap'n Proto's specification.
constexpr std::uint64_t list_pointer = 1;
constexpr std::uint64_t composite_list = 7;
constexpr std::uint64_t empty_struct = 0xfffffffc;

constexpr std::size_t word_size = sizeof(std::uint64_t);

std::uint64_t word_at(const kj::byte* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, word_size);
  return word;
}

/// How long a struct's two sections are, in words.
struct Extent {
  std::size_t data = 0;
  std::size_t pointers = 0;

  std::size_t words() const { return data + pointers; }

  std::uint64_t encoded() const {
    return std::uint64_t{data} << 32U | std::uint64_t{pointers} << 48U;
  }

  void cover(const Extent& other) {
    data = std::max(data, other.data);
    pointers = std::max(pointers, other.pointers);
  }
};

/// What of a struct is stored; of a roomy one no more than its plan says.
Extent extent_of(capnp::AnyStruct::Reader source, const StructPlan* plan) {
  const auto data = source.getDataSection();
  const auto* pointers = data.end();  // where they stand; those that are null are 0
  Extent extent{(data.size() + word_size - 1) / word_size, source.getPointerSection().size()};
  if (plan != nullptr)
    extent = {std::min<std::size_t>(extent.data, plan->stored_data_words),
              std::min<std::size_t>(extent.pointers, plan->stored_pointer_count)};
  const auto is_zero = [&data](std::size_t at) {
    const auto* begin = data.begin() + at * word_size;
    return std::all_of(begin, std::min(begin + word_size, data.end()),
                       [](kj::byte byte) { return byte == 0; });
  };
  while (extent.data > 0 && is_zero(extent.data - 1))
    --extent.data;
  while (extent.pointers > 0 && word_at(pointers + (extent.pointers - 1) * word_size) == 0)
    --extent.pointers;
  return extent;
}

class StoredForm {
public:
  /// `words` are zero, and `bound` many.
  StoredForm(std::uint64_t* words, std::size_t bound) : words_{words}, bound_{bound} {}

  std::size_t size() const { return used_; }

  std::size_t allocate(std::size_t count) {
    KJ_REQUIRE(count <= bound_ - used_, "an object holds more than was counted");
    const auto at = used_;
    used_ += count;
    return at;
  }

  /// Writes a struct and the pointer to it, which is the word `at`. `plan`: of a roomy struct.
  void write_struct(std::size_t at, capnp::AnyStruct::Reader source, const StructPlan* plan) {
    const auto extent = extent_of(source, plan);
    if (extent.words() == 0) {
      words_[at] = empty_struct;
      return;
    }
    const auto content = allocate(extent.words());
    words_[at] = offset(at, content) | extent.encoded();
    write_content(content, extent, source, plan);
  }

private:
  static std::uint64_t offset(std::size_t from, std::size_t to) { return (to - from - 1) << 2U; }

  static std::uint64_t list(std::uint64_t element_size, std::uint64_t count) {
    return list_pointer | element_size << 32U | count << 35U;
  }

  /// Writes what `source` has of the extent.
  void write_content(std::size_t at,
                     const Extent& extent,
                     capnp::AnyStruct::Reader source,
                     const StructPlan* plan) {
    const auto data = source.getDataSection();
    std::memcpy(words_ + at, data.begin(), std::min(data.size(), extent.data * word_size));
    const auto pointers = source.getPointerSection();
    const auto first = at + extent.data;
    for (unsigned i = 0; i < std::min<std::size_t>(pointers.size(), extent.pointers); ++i)
      if (word_at(data.end() + i * word_size) != 0)
        write_pointer(first + i, pointers[i], plan == nullptr ? nullptr : plan->behind_pointers[i]);
  }

  void write_pointer(std::size_t at, capnp::AnyPointer::Reader source, const ValuePlan* plan) {
    if (source.getPointerType() == capnp::PointerType::STRUCT)
      return write_struct(at, source.getAs<capnp::AnyStruct>(),
                          plan == nullptr ? nullptr : plan->fields);
    KJ_REQUIRE(source.isList(), "an object holds no capabilities");
    const auto elements = source.getAs<capnp::AnyList>();
    switch (elements.getElementSize()) {
      case capnp::ElementSize::INLINE_COMPOSITE:
        return write_structs(at, elements.as<capnp::List<capnp::AnyStruct>>(), fields_of(plan));
      case capnp::ElementSize::POINTER:
        return write_pointers(at, elements.as<capnp::List<capnp::AnyPointer>>());
      default:
        return write_bytes(at, elements);
    }
  }

  /// Of the elements of a list, or the entries of a map.
  static const StructPlan* fields_of(const ValuePlan* plan) {
    if (plan == nullptr) return nullptr;
    return plan->shape == Shape::map ? plan->fields : plan->element->fields;
  }

  /// All elements of a list are as long as the longest. None that had a word is left without:
  /// readers count elements that take no room as if they did, and few words would stand for many.
  void write_structs(std::size_t at,
                     capnp::List<capnp::AnyStruct>::Reader elements,
                     const StructPlan* plan) {
    Extent each;
    bool has_room = false;
    for (const auto element : elements) {
      each.cover(extent_of(element, plan));
      has_room
          = has_room || element.getDataSection().size() + element.getPointerSection().size() > 0;
    }
    if (each.words() == 0 && has_room) each.data = 1;
    const auto count = std::size_t{elements.size()};
    const auto tag = allocate(1 + each.words() * count);
    words_[at] = offset(at, tag) | list(composite_list, each.words() * count);
    words_[tag] = std::uint64_t{count} << 2U | each.encoded();
    for (unsigned i = 0; i < count; ++i)
      write_content(tag + 1 + i * each.words(), each, elements[i], plan);
  }

  /// Texts, or lists: nothing that a roomy draft keeps more of than is stored.
  void write_pointers(std::size_t at, capnp::List<capnp::AnyPointer>::Reader elements) {
    const auto first = allocate(elements.size());
    words_[at] = offset(at, first)
                 | list(static_cast<std::uint64_t>(capnp::ElementSize::POINTER), elements.size());
    for (unsigned i = 0; i < elements.size(); ++i)
      if (!elements[i].isNull()) write_pointer(first + i, elements[i], nullptr);
  }

  /// Text, data, or a list of numbers.
  void write_bytes(std::size_t at, capnp::AnyList::Reader elements) {
    const auto raw = elements.getRawBytes();
    const auto first = allocate((raw.size() + word_size - 1) / word_size);
    words_[at] = offset(at, first)
                 | list(static_cast<std::uint64_t>(elements.getElementSize()), elements.size());
    if (raw.size() != 0) std::memcpy(words_ + first, raw.begin(), raw.size());
  }

  std::uint64_t* words_;
  std::size_t bound_;
  std::size_t used_ = 0;
};

Block* freeze_bounded(capnp::AnyStruct::Reader source, const StructPlan* plan, std::size_t bound) {
  ++bound;  // for the root's pointer
  const auto words = std::make_unique<std::uint64_t[]>(bound);
  StoredForm form{words.get(), bound};
  form.write_struct(form.allocate(1), source, plan);
  Block* block = Block::make(form.size());
  std::memcpy(static_cast<void*>(block->words()), words.get(), form.size() * word_size);
  return block;
}

}  // namespace

Block* Block::freeze(capnp::AnyStruct::Reader source) {
  return freeze_bounded(source, nullptr, source.totalSize().wordCount);
}

Block* Block::freeze(capnp::AnyStruct::Reader source, const StructPlan& plan, std::size_t bound) {
  return freeze_bounded(source, &plan, bound);
}

}  // namespace nomad::detail
