#include "runtime/jobspec/draft_block.hpp"

#include <algorithm>

namespace nomad::jobspec {

using nomad::object::FieldPlan;
using nomad::object::Shape;
using nomad::object::StructPlan;

namespace {

/// Of the elements of a list, or the entries of a map.
const StructPlan& element_plan(const FieldPlan& field) {
  return field.value.shape == Shape::map ? *field.value.fields : *field.value.element->fields;
}

capnp::List<capnp::AnyStruct>::Builder structs_of(capnp::AnyList::Builder list) {
  return list.as<capnp::List<capnp::AnyStruct>>();
}

/// Moves all of a struct into another of the same plan.
void move_struct(capnp::AnyStruct::Builder from, capnp::AnyStruct::Builder to) {
  const auto data = from.getDataSection();
  std::copy(data.begin(), data.end(), to.getDataSection().begin());
  auto old_pointers = from.getPointerSection();
  auto new_pointers = to.getPointerSection();
  for (unsigned i = 0; i < old_pointers.size(); ++i)
    new_pointers[i].adopt(old_pointers[i].disown());
}

}  // namespace

const FieldPlan* DraftBlock::given(FieldName name) const {
  if (!raw_) return nullptr;
  const FieldPlan& field = raw_->plan().at(name);
  if (field.value.shape == Shape::optional)
    return raw_->load(field.tag) == field.given ? &field : nullptr;
  if (field.slot.is_pointer()) return raw_->is_null(field.slot) ? nullptr : &field;
  return (raw_->marks() & field.mark) != 0 ? &field : nullptr;
}

bool DraftBlock::is_zero(FieldName name) const {
  const FieldPlan* field = given(name);
  if (field == nullptr) return true;
  return field->slot.is_pointer() ? text(*field).empty() : raw_->load(field->slot) == 0;
}

bool DraftBlock::is_zero() const {
  return !raw_
         || std::all_of(raw_->plan().fields.begin(), raw_->plan().fields.end(),
                        [this](const FieldPlan& field) { return is_zero(field); });
}

std::string_view DraftBlock::text(FieldName name) const {
  const FieldPlan* field = given(name);
  if (field == nullptr) return {};
  const auto text = raw_->pointer(field->slot).getAs<capnp::Text>().asReader();
  return {text.begin(), text.size()};
}

std::int64_t DraftBlock::number(FieldName name) const {
  const FieldPlan* field = given(name);
  if (field == nullptr) return 0;
  const auto bits = raw_->load(field->slot);
  const unsigned unused = 64U - field->slot.bits;
  if (!field->slot.is_signed) return static_cast<std::int64_t>(bits);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

bool DraftBlock::flag(FieldName name) const {
  return number(name) != 0;
}

DraftBlock::Texts DraftBlock::texts(FieldName name) const {
  const FieldPlan* field = given(name);
  if (field == nullptr) return {};
  return raw_->pointer(field->slot).getAs<capnp::List<capnp::Text>>().asReader();
}

capnp::Data::Reader DraftBlock::bytes(FieldName name) const {
  const FieldPlan* field = given(name);
  if (field == nullptr) return {};
  return raw_->pointer(field->slot).getAs<capnp::Data>().asReader();
}

DraftBlock DraftBlock::child(FieldName name) const {
  const FieldPlan* field = given(name);
  if (field == nullptr) return {};
  return {raw_->pointer(field->slot).getAs<capnp::AnyStruct>(), *field->value.fields};
}

DraftBlocks DraftBlock::list(FieldName name) const {
  const FieldPlan* field = given(name);
  if (field == nullptr) return {};
  return {structs_of(raw_->pointer(field->slot).getAs<capnp::AnyList>()), element_plan(*field)};
}

std::optional<std::string_view> DraftBlock::entry(FieldName name, std::string_view key) const {
  for (const DraftBlock each : list(name))
    if (each.text("Key") == key) return each.text("Value");
  return std::nullopt;
}

void DraftBlock::set(FieldName name, std::string_view value) {
  nomad::object::set_text(raw_->pointer(raw_->plan().at(name).slot), value);
}

void DraftBlock::set(FieldName name, std::int64_t value) {
  const FieldPlan& field = raw_->plan().at(name);
  raw_->store(field.slot, static_cast<std::uint64_t>(value));
  if (field.value.shape == Shape::optional) raw_->store(field.tag, field.given);
  raw_->set_marks(raw_->marks() | field.mark);
}

void DraftBlock::clear(FieldName name) {
  const FieldPlan& field = raw_->plan().at(name);
  if (field.slot.is_pointer()) {
    raw_->pointer(field.slot).clear();
    return;
  }
  raw_->store(field.slot, 0);
  if (field.value.shape == Shape::optional) raw_->store(field.tag, field.given == 0 ? 1 : 0);
  raw_->set_marks(raw_->marks() & ~field.mark);
}

void DraftBlock::null_if_empty(std::initializer_list<FieldName> names) {
  for (const FieldName name : names) {
    const FieldPlan& field = raw_->plan().at(name);
    if (!has(field)) continue;
    const bool is_empty = field.value.shape == Shape::raw_json
                              ? text(field) == "{}"
                              : raw_->pointer(field.slot).getAs<capnp::AnyList>().size() == 0;
    if (is_empty) clear(field);
  }
}

DraftBlock DraftBlock::init(FieldName name) {
  const FieldPlan& field = raw_->plan().at(name);
  return {init_struct(raw_->pointer(field.slot), *field.value.fields), *field.value.fields};
}

DraftBlock DraftBlock::child_or_new(FieldName name) {
  return has(name) ? child(name) : init(name);
}

void DraftBlock::set_default_list(FieldName name) {
  const FieldPlan& field = raw_->plan().at(name);
  if (has(field)) return;
  if (field.value.shape == Shape::list && field.value.element->shape == Shape::text)
    raw_->pointer(field.slot).initAs<capnp::List<capnp::Text>>(0);
  else
    init_structs(raw_->pointer(field.slot), element_plan(field), 0);
}

void DraftBlock::set_texts(FieldName name, std::initializer_list<std::string_view> values) {
  auto list = raw_->pointer(raw_->plan().at(name).slot)
                  .initAs<capnp::List<capnp::Text>>(static_cast<capnp::uint>(values.size()));
  unsigned next = 0;
  for (const std::string_view value : values) {
    auto text = list.init(next++, static_cast<capnp::uint>(value.size()));
    std::copy(value.begin(), value.end(), text.begin());
  }
}

void DraftBlock::set_entries(FieldName name, TextEntries entries) {
  const FieldPlan& field = raw_->plan().at(name);
  const StructPlan& plan = element_plan(field);
  auto list = init_structs(raw_->pointer(field.slot), plan, static_cast<unsigned>(entries.size()));
  unsigned next = 0;
  for (const auto& [key, value] : entries) {
    DraftBlock entry{list[next++], plan};
    entry.set("Key", key);
    entry.set("Value", value);
  }
}

DraftBlock DraftBlock::append(FieldName name) {
  const FieldPlan& field = raw_->plan().at(name);
  const StructPlan& plan = element_plan(field);
  const unsigned size = list(field).size();
  auto old = raw_->pointer(field.slot).disown();
  auto now = init_structs(raw_->pointer(field.slot), plan, size + 1);
  for (unsigned i = 0; i < size; ++i)
    move_struct(structs_of(old.getAs<capnp::AnyList>())[i], now[i]);
  return {now[size], plan};
}

void DraftBlock::keep(FieldName name, const std::vector<bool>& wanted) {
  const auto kept = std::count(wanted.begin(), wanted.end(), true);
  if (kept == static_cast<std::ptrdiff_t>(wanted.size())) return;
  const FieldPlan& field = raw_->plan().at(name);
  auto old = raw_->pointer(field.slot).disown();
  auto now = init_structs(raw_->pointer(field.slot), element_plan(field),
                          static_cast<std::uint32_t>(kept));
  unsigned next = 0;
  for (unsigned i = 0; i < wanted.size(); ++i)
    if (wanted[i]) move_struct(structs_of(old.getAs<capnp::AnyList>())[i], now[next++]);
}

void DraftBlock::fill_from(const DraftBlock& other) {
  for (const FieldPlan& field : raw_->plan().fields) {
    if (has(field) || !other.has(field)) continue;
    if (field.slot.is_pointer())
      raw_->pointer(field.slot).set(other.raw_->pointer(field.slot).asReader());
    else
      set(field, other.number(field));
  }
}

void DraftBlock::move(FieldName from, FieldName to) {
  auto taken = raw_->pointer(raw_->plan().at(from).slot).disown();
  raw_->pointer(raw_->plan().at(to).slot).adopt(kj::mv(taken));
}

}  // namespace nomad::jobspec
