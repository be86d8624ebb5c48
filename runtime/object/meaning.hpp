// What objects mean: nothing, null and empty are one thing. Clients write a text that is not
// there as "", as null or not at all, a list as [] or null; what they put back must compare as
// what they got. Tests: jobspec's one_form_test, by random jobs; tasks_updated_test.
//
// Objects that come in from requests are brought to one form (`drop_empty`). Stored ones may be
// older than that form, so that "is it the same?" asks `same_meaning`. Pure; any thread.
#pragma once

#include <string_view>

#include "runtime/object/plan.hpp"
#include "runtime/object/raw_struct.hpp"

namespace nomad::object {

/// Whether two structs of `plan` mean the same. An absent struct is one of zeros, an absent text an
/// empty one, an absent list, map or free content one without elements. A number that may be absent
/// is not the same as 0. What the schema calls bookkeeping does not count.
bool same_meaning(const StructPlan& plan, capnp::AnyStruct::Reader a, capnp::AnyStruct::Reader b);

/// The same of one of their fields, whatever the schema calls it.
bool same_field(const FieldPlan& field, capnp::AnyStruct::Reader a, capnp::AnyStruct::Reader b);

/// What members of JSON objects are that are null or have no elements.
enum class EmptyMember : std::uint8_t { counts, is_absent };

/// Whether two JSON texts say the same: in whatever order members are, and with whatever white
/// space. Older servers stored them otherwise.
bool same_json(std::string_view a, std::string_view b, EmptyMember empty);

/// The struct behind a pointer, or one of zeros.
capnp::AnyStruct::Reader struct_at(Slot slot, capnp::AnyStruct::Reader of);

template <class Reader>
bool same_meaning(Reader a, Reader b) {
  return same_meaning(plan_of(capnp::Schema::from<capnp::FromReader<Reader>>()),
                      capnp::AnyStruct::Reader{a}, capnp::AnyStruct::Reader{b});
}

/// Makes absent what is empty, here and in all structs below: texts, bytes, lists, maps and free
/// content. Elements of lists stay where they are.
void drop_empty(capnp::AnyStruct::Builder of, const StructPlan& plan);

}  // namespace nomad::object
