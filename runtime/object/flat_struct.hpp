// FlatStruct: a struct of an Object as it lies in memory, for code that reads every field of many
// objects: nothing is called to follow a pointer. Only blocks of Objects are read so, for they are
// one segment that was checked when it was made (object.hpp); of pointers that it does not follow
// by itself, Cap'n Proto's own reader has to be asked.
//
// Source: the encoding of Cap'n Proto, https://capnproto.org/encoding.html. Pure; as valid as the
// Object's block.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <capnp/any.h>
#include <capnp/serialize.h>

#include "runtime/object/object.hpp"
#include "runtime/object/plan.hpp"

namespace nomad::object {

static_assert(std::endian::native == std::endian::little, "the words of messages are read as is");

/// A pointer as it is stored.
class FlatPointer {
public:
  /// Of what is not there.
  FlatPointer() = default;

  explicit FlatPointer(const capnp::word* at) : at_{at} { std::memcpy(&bits_, at, sizeof bits_); }

  bool is_null() const { return bits_ == 0; }

  bool is_struct() const { return (bits_ & 3U) == 0; }

  /// Whether it leads to structs one behind the other, as all lists of them are written.
  bool is_struct_list() const { return (bits_ & 3U) == 1 && element_size() == composite; }

  /// Empty when it is null. Of a text.
  std::string_view text() const {
    const auto bytes = size();
    return bytes == 0 ? std::string_view{}
                      : std::string_view{reinterpret_cast<const char*>(target()), bytes - 1};
  }

  /// Elements of a list, or the words of one of structs.
  std::size_t size() const { return static_cast<std::size_t>(bits_ >> 35U); }

  const capnp::word* target() const {
    return at_ + 1 + (static_cast<std::int32_t>(static_cast<std::uint32_t>(bits_)) >> 2);
  }

  std::uint16_t data_words() const { return static_cast<std::uint16_t>(bits_ >> 32U); }

  std::uint16_t pointer_count() const { return static_cast<std::uint16_t>(bits_ >> 48U); }

  /// The same for Cap'n Proto's own readers: a pointer is what an unchecked message begins with.
  capnp::AnyPointer::Reader read() const {
    return at_ == nullptr ? capnp::AnyPointer::Reader{}
                          : capnp::readMessageUnchecked<capnp::AnyPointer>(at_);
  }

private:
  static constexpr unsigned composite = 7;

  unsigned element_size() const { return static_cast<unsigned>(bits_ >> 32U) & 7U; }

  const capnp::word* at_ = nullptr;
  std::uint64_t bits_ = 0;
};

/// The bits of a scalar in a data section of `size` bytes, a signed one extended; 0 beyond it.
inline std::uint64_t scalar_in(const void* data, std::size_t size, const Slot& slot) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  if (slot.bits == 1) {
    const auto byte = slot.offset / 8;
    return byte < size ? (bytes[byte] >> (slot.offset % 8)) & 1U : 0;
  }
  const std::size_t width = slot.bits / 8;
  const std::size_t at = slot.offset * width;
  if (at + width > size) return 0;
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes + at, width);
  if (!slot.is_signed) return bits;
  const unsigned unused = 64U - slot.bits;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << unused) >> unused);
}

class FlatStruct {
public:
  /// Of nothing: everything in it is 0.
  FlatStruct() = default;

  FlatStruct(const capnp::word* data, std::uint16_t data_words, std::uint16_t pointer_count)
      : data_{data}, data_words_{data_words}, pointer_count_{pointer_count} {}

  /// Behind a pointer to a struct.
  explicit FlatStruct(const FlatPointer& pointer)
      : FlatStruct{pointer.is_null() ? nullptr : pointer.target(),
                   pointer.is_null() ? std::uint16_t{0} : pointer.data_words(),
                   pointer.is_null() ? std::uint16_t{0} : pointer.pointer_count()} {}

  /// What is not stored is 0.
  std::uint64_t scalar(const Slot& slot) const {
    if (slot.bits != 64) return scalar_in(data_, std::size_t{data_words_} * sizeof *data_, slot);
    std::uint64_t bits = 0;  // what most are, and nothing to be worked out
    if (slot.offset < data_words_) std::memcpy(&bits, data_ + slot.offset, sizeof bits);
    return bits;
  }

  FlatPointer pointer(const Slot& slot) const {
    return slot.offset < pointer_count_ ? FlatPointer{data_ + data_words_ + slot.offset}
                                        : FlatPointer{};
  }

  bool is_null(const Slot& slot) const { return pointer(slot).is_null(); }

private:
  const capnp::word* data_ = nullptr;
  std::uint16_t data_words_ = 0;
  std::uint16_t pointer_count_ = 0;
};

/// Not of an empty Object.
template <class T>
FlatStruct flat_struct_of(const Object<T>& object) {
  return FlatStruct{FlatPointer{reinterpret_cast<const capnp::word*>(object.bytes().data())}};
}

/// Asks for the memory that most readers begin with, for who will read it soon. Always inline, as
/// whatever calls it: g++ takes a function that only asks for memory for one without effect.
template <class T>
[[gnu::always_inline]] inline void prefetch_fields(const Object<T>& object) {
  constexpr std::size_t line = 64;
  const auto* begin = reinterpret_cast<const char*>(object.bytes().data());
  for (std::size_t at = 0; at < 4 * line; at += line)
    __builtin_prefetch(begin + at);
}

/// A text of Objects, by the API's name of it, for who looks at many of them.
template <class T>
class TextField {
public:
  /// Ends the process if there is no such field: code and schema differ.
  explicit TextField(FieldName name) : slot_{plan_of<T>().at(name).slot} {}

  /// Not of an empty Object; as valid as its block.
  std::string_view of(const Object<T>& object) const {
    return flat_struct_of(object).pointer(slot_).text();
  }

private:
  const Slot slot_;
};

/// That of the object's kind.
template <class T>
TextField<T> text_field(const Object<T>&, FieldName name) {
  return TextField<T>{name};
}

/// Calls `each(FlatStruct)` for the elements of a list of structs.
template <class Each>
void each_flat_struct(const FlatPointer& list, Each each) {
  const FlatPointer tag{list.target()};  // its offset is the number of elements
  const auto* element = list.target() + 1;
  const std::size_t words = std::size_t{tag.data_words()} + tag.pointer_count();
  std::uint64_t bits = 0;
  std::memcpy(&bits, list.target(), sizeof bits);
  for (auto left = static_cast<std::uint32_t>(bits) >> 2U; left != 0; --left, element += words)
    each(FlatStruct{element, tag.data_words(), tag.pointer_count()});
}

}  // namespace nomad::object
