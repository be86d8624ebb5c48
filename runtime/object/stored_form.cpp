// Freezing a roomy draft: the flat words of what is stored, written in one walk by the plan. They
// are those that Cap'n Proto's own flat copy of the same object would be.
#include <cstring>
#include <memory>

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

std::uint64_t struct_size(const StructPlan& plan) {
  return std::uint64_t{plan.stored_data_words} << 32U
         | std::uint64_t{plan.stored_pointer_count} << 48U;
}

class StoredForm {
public:
  explicit StoredForm(std::uint64_t* words) : words_{words} {}

  std::size_t size() const { return used_; }

  std::size_t allocate(std::size_t count) {
    const auto at = used_;
    used_ += count;
    return at;
  }

  /// Writes a struct and the pointer to it, which is the word `at`.
  void write_struct(std::size_t at, capnp::AnyStruct::Reader source, const StructPlan& plan) {
    const std::size_t size = plan.stored_data_words + plan.stored_pointer_count;
    if (size == 0) {
      words_[at] = empty_struct;
      return;
    }
    const auto content = allocate(size);
    words_[at] = offset(at, content) | struct_size(plan);
    write_content(content, source, plan);
  }

private:
  static std::uint64_t offset(std::size_t from, std::size_t to) { return (to - from - 1) << 2U; }

  static std::uint64_t list(std::uint64_t element_size, std::uint64_t count) {
    return list_pointer | element_size << 32U | count << 35U;
  }

  void write_content(std::size_t at, capnp::AnyStruct::Reader source, const StructPlan& plan) {
    const auto data = source.getDataSection();
    std::memcpy(words_ + at, data.begin(),
                std::min<std::size_t>(data.size(), plan.stored_data_words * sizeof(std::uint64_t)));
    const auto pointers = source.getPointerSection();
    const auto* words = data.end();  // where pointers stand; those that are null are 0
    const std::size_t first = at + plan.stored_data_words;
    for (unsigned i = 0; i < std::min<unsigned>(pointers.size(), plan.stored_pointer_count); ++i) {
      std::uint64_t pointer = 0;
      std::memcpy(&pointer, words + i * sizeof pointer, sizeof pointer);
      if (pointer != 0) write_pointer(first + i, pointers[i], plan.behind_pointers[i]);
    }
  }

  void write_pointer(std::size_t at, capnp::AnyPointer::Reader source, const ValuePlan* plan) {
    if (plan != nullptr && plan->shape == Shape::object)
      return write_struct(at, source.getAs<capnp::AnyStruct>(), *plan->fields);
    const auto elements = source.getAs<capnp::AnyList>();
    switch (elements.getElementSize()) {
      case capnp::ElementSize::INLINE_COMPOSITE:
        return write_structs(at, elements.as<capnp::List<capnp::AnyStruct>>(),
                             plan->shape == Shape::map ? *plan->fields : *plan->element->fields);
      case capnp::ElementSize::POINTER:
        return write_texts(at, elements.as<capnp::List<capnp::AnyPointer>>());
      default:
        return write_bytes(at, elements);
    }
  }

  void write_structs(std::size_t at,
                     capnp::List<capnp::AnyStruct>::Reader elements,
                     const StructPlan& plan) {
    const std::size_t each = plan.stored_data_words + plan.stored_pointer_count;
    const auto tag = allocate(1 + each * elements.size());
    words_[at] = offset(at, tag) | list(composite_list, each * elements.size());
    words_[tag] = std::uint64_t{elements.size()} << 2U | struct_size(plan);
    for (unsigned i = 0; i < elements.size(); ++i)
      write_content(tag + 1 + i * each, elements[i], plan);
  }

  void write_texts(std::size_t at, capnp::List<capnp::AnyPointer>::Reader elements) {
    const auto first = allocate(elements.size());
    words_[at] = offset(at, first)
                 | list(static_cast<std::uint64_t>(capnp::ElementSize::POINTER), elements.size());
    for (unsigned i = 0; i < elements.size(); ++i)
      if (!elements[i].isNull()) write_bytes(first + i, elements[i].getAs<capnp::AnyList>());
  }

  /// Text, data, or a list of numbers.
  void write_bytes(std::size_t at, capnp::AnyList::Reader elements) {
    const auto raw = elements.getRawBytes();
    const auto first = allocate((raw.size() + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
    words_[at] = offset(at, first)
                 | list(static_cast<std::uint64_t>(elements.getElementSize()), elements.size());
    if (raw.size() != 0) std::memcpy(words_ + first, raw.begin(), raw.size());
  }

  std::uint64_t* words_;
  std::size_t used_ = 0;
};

}  // namespace

Block* Block::freeze(capnp::AnyStruct::Reader source, const StructPlan& plan, std::size_t bound) {
  const auto words = std::make_unique<std::uint64_t[]>(bound + 1);  // one for the root pointer
  StoredForm form{words.get()};
  form.write_struct(form.allocate(1), source, plan);
  Block* block = make(form.size());
  std::memcpy(static_cast<void*>(block->words()), words.get(), form.size() * sizeof(capnp::word));
  return block;
}

}  // namespace nomad::detail
