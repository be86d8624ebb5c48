// What the descriptor of a stored kind is made of; kinds.hpp has the descriptors, and says what
// each member of one is for.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/object/draft.hpp"
#include "runtime/state/map/persistent_map.hpp"
#include "runtime/state/table.hpp"
#include "schema/command.capnp.h"

namespace nomad::state {

template <class T>
using Objects = PersistentMap<Object<T>>;

/// The base of a descriptor: which objects it is about, and which table they are.
template <class T, Table number>
struct Stored {
  using Type = T;
  using Reader = typename T::Reader;
  static constexpr Table table = number;
};

/// Another order of a kind's rows. `key(row)` is a row's place in `map`: a text, or an optional one
/// where not each row has a place. The map's values are the rows, or Nothing.
template <class Rows, class Map, class Key>
struct RowIndex {
  Map Rows::*map;
  Key key;
};

template <class Rows, class Map, class Key>
RowIndex(Map Rows::*, Key) -> RowIndex<Rows, Map, Key>;

/// Who else is woken by a change of a row: those who wait for `key(row)` of a watched table.
template <class Key>
struct RowWatch {
  Table table;
  Key key;
};

template <class Key>
RowWatch(Table, Key) -> RowWatch<Key>;

/// The command that stores one. What it brings is the object, or has it (`object_of`).
template <class Payload>
struct PutCommand {
  schema::Command::Which which;
  Payload (schema::Command::Reader::*get)() const;
  void (schema::Command::Builder::*set)(Payload);
  std::string_view event = {};  ///< The type of its events.
};

template <class Payload, class... Event>
PutCommand(schema::Command::Which,
           Payload (schema::Command::Reader::*)() const,
           void (schema::Command::Builder::*)(Payload),
           Event...) -> PutCommand<Payload>;

/// The command that removes the one of a key.
struct RemoveCommand {
  schema::Command::Which which;
  capnp::Text::Reader (schema::Command::Reader::*get)() const;
  void (schema::Command::Builder::*set)(capnp::Text::Reader);
  std::string_view event = {};
};

/// For `derive` of a descriptor.
struct Derivation {
  Index index = 0;  ///< Of the change.
  /// To be told which keys of a watched table changed.
  std::function<void(Table table, std::string_view key)> changed;
};

/// "namespace\0job id" of whatever belongs to a job.
template <class Reader>
std::string key_of_job(Reader row) {
  return join_key(view(row.getNamespace()), view(row.getJobId()));
}

/// In the order of creation: create index, id.
template <class Reader>
std::string key_by_create(Reader row) {
  return number_key(row.getCreateIndex()).append(view(row.getId()));
}

/// A check-and-set on the index that was read; `name` is for the text.
template <class T>
std::optional<Error> check_modify_index(std::string_view name,
                                        const Object<T>& stored,
                                        Index wanted) {
  const Index actual = stored ? stored->getModifyIndex() : 0;
  if (wanted == actual) return std::nullopt;
  return Error{Errc::conflict, std::string{name} + " has ModifyIndex " + std::to_string(actual)};
}

}  // namespace nomad::state
