// Object<T>: an immutable schema object in one flat block of words, shared by reference. The same
// words are the Raft log entry, the RPC payload, the row in the state store and the payload of an
// actor's message.
//
// A block is made only from a *checked* reader or a builder (`freeze`), or from bytes after a full
// checked pass (`from_bytes`). After that it is read without bounds checks and without a traversal
// limit, from any thread. Bytes that were stored or received go through `from_bytes`, always; a
// checksum against broken disks is the business of whoever stores them.
//
// May depend on: runtime/base, schema.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include <capnp/any.h>
#include <capnp/message.h>
#include <capnp/schema.h>
#include <capnp/serialize.h>

#include "runtime/base/result.hpp"

namespace nomad {

namespace object {
struct StructPlan;
}

namespace schema {
struct Allocation;
}

class AllocView;

/// By what the fields of an object are read: what the schema generates, but for allocations, whose
/// form may change (runtime/object/alloc_view.hpp).
template <class T>
struct ReadBy {
  using Type = typename T::Reader;
};

template <>
struct ReadBy<schema::Allocation> {
  using Type = AllocView;
};

namespace detail {

/// The reference-counted block behind an Object: a header and `count` words, the first of which is
/// the root pointer.
struct Block {
  std::atomic<std::size_t> references;
  std::size_t count;

  capnp::word* words() { return reinterpret_cast<capnp::word*>(this + 1); }

  /// A zeroed block of `count` words with one reference.
  static Block* make(std::size_t count);

  static Block* freeze(capnp::AnyStruct::Reader source);

  /// Copies what of a roomy struct is stored. `bound` words are enough for it.
  static Block* freeze(capnp::AnyStruct::Reader source,
                       const object::StructPlan& plan,
                       std::size_t bound);

  /// Copies `bytes` after a checked pass over everything that `schema` can reach in them.
  static Result<Block*> from_bytes(std::span<const std::byte> bytes, capnp::StructSchema schema);

  /// The same pass without the copy; refuses bytes that are not aligned to words.
  static Result<> check(std::span<const std::byte> bytes, capnp::StructSchema schema);

  void retain() noexcept { references.fetch_add(1, std::memory_order_relaxed); }

  void release() noexcept;
};

/// A counted reference to a block, whatever is in it.
class BlockRef {
public:
  BlockRef() = default;

  BlockRef(const BlockRef& other) noexcept : block_{other.block_} {
    if (block_ != nullptr) block_->retain();
  }

  BlockRef(BlockRef&& other) noexcept : block_{std::exchange(other.block_, nullptr)} {}

  BlockRef& operator=(BlockRef other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }

  ~BlockRef() {
    if (block_ != nullptr) block_->release();
  }

protected:
  explicit BlockRef(Block* block) noexcept : block_{block} {}

  Block* block_ = nullptr;
};

}  // namespace detail

template <class T>
class Object : public detail::BlockRef {
public:
  using Stored = detail::BlockRef;  ///< For PersistentMap.

  Object() = default;

  /// Copies `source` into a block of its own.
  static Object freeze(typename T::Reader source) {
    return Object{detail::Block::freeze(capnp::AnyStruct::Reader{source})};
  }

  /// The same of a draft that has room for more than is stored (runtime/object/plan.hpp). `plan` is
  /// its root's, and `bound` the words of its message.
  static Object freeze(capnp::AnyStruct::Reader source,
                       const object::StructPlan& plan,
                       std::size_t bound) {
    return Object{detail::Block::freeze(source, plan, bound)};
  }

  /// Takes bytes that left this process's trust (disk, network). `Errc::corrupt` when they are no
  /// well-formed object.
  static Result<Object> from_bytes(std::span<const std::byte> bytes) {
    auto block = NOMAD_TRY(detail::Block::from_bytes(bytes, capnp::Schema::from<T>()));
    return Object{block};
  }

  /// Whether `bytes` can be read where they are, unchecked: `from_bytes` takes them, and they are
  /// aligned to words.
  static Result<> check(std::span<const std::byte> bytes) {
    return detail::Block::check(bytes, capnp::Schema::from<T>());
  }

  explicit operator bool() const noexcept { return block_ != nullptr; }

  /// The object's fields. Valid as long as any Object refers to the block. Not for an empty Object.
  typename ReadBy<T>::Type operator*() const { return reader(); }

  /// `object->getId()`.
  struct Arrow {
    typename ReadBy<T>::Type fields;

    typename ReadBy<T>::Type* operator->() { return &fields; }
  };

  /// The same as the schema has them: for what encodes objects of any kind.
  typename T::Reader reader() const { return capnp::readMessageUnchecked<T>(block_->words()); }

  Arrow operator->() const { return {**this}; }

  /// The words as they are stored and sent.
  std::span<const std::byte> bytes() const noexcept {
    if (block_ == nullptr) return {};
    return std::as_bytes(std::span{block_->words(), block_->count});
  }

  std::size_t size_in_bytes() const noexcept { return bytes().size(); }

  /// Whether both refer to the same block; not a comparison of contents.
  bool is_same(const Object& other) const noexcept { return block_ == other.block_; }

  /// Whether the contents are the same to the bit. Two objects frozen from equal drafts are.
  bool equals(const Object& other) const noexcept {
    const auto mine = bytes();
    const auto theirs = other.bytes();
    return mine.size() == theirs.size()
           && (mine.empty() || std::memcmp(mine.data(), theirs.data(), mine.size()) == 0);
  }

private:
  explicit Object(detail::Block* block) noexcept : BlockRef{block} {}
};

}  // namespace nomad
