#include "runtime/template/functions/cluster_values.hpp"

#include <algorithm>

#include "runtime/base/text.hpp"
#include "runtime/template/eval/bind.hpp"
#include "runtime/template/functions/time_value.hpp"

namespace nomad::templates {
namespace {

std::vector<std::string> sorted(std::vector<std::string> texts) {
  std::ranges::sort(texts);
  return texts;
}

std::string show_nano_time(const Value& value) {
  return format_time("2006-01-02 15:04:05.999999999 -0700 MST", value.as_integer());
}

Value time_of(const Value& nano_time) {
  return time_value(nano_time.as_integer());
}

const Function* nano_time_method(std::string_view name) {
  static const Function methods[] = {method<time_of>("Time"), method<show_nano_time>("String")};
  return find_method(methods, name);
}

constexpr Type nano_time{.kind = Kind::integer,
                         .name = "dependency.nanoTime",
                         .method = nano_time_method,
                         .show = show_nano_time};

constexpr Field meta_fields[]
    = {{"Namespace", &types::text},     {"Path", &types::text},     {"CreateIndex", &types::uint64},
       {"ModifyIndex", &types::uint64}, {"CreateTime", &nano_time}, {"ModifyTime", &nano_time}};

std::string show_meta(const Value& value) {
  return std::string{value.fields()[1].as_text()};
}

const Function* meta_method(std::string_view name) {
  static const Function methods[] = {method<show_meta>("String")};
  return find_method(methods, name);
}

constexpr Type meta_type{.kind = Kind::structure,
                         .name = "*dependency.NomadVarMeta",
                         .fields = meta_fields,
                         .method = meta_method,
                         .show = show_meta,
                         .is_pointer = true};

std::vector<Value> meta_values(const VariableMeta& meta) {
  return {Value::text(meta.name_space),
          Value::text(meta.path),
          Value::natural(meta.create_index),
          Value::natural(meta.modify_index),
          Value::integer(meta.create_time, nano_time),
          Value::integer(meta.modify_time, nano_time)};
}

// An item is a structure of its key, its value and the variable without its items, from which its
// methods make the rest. The variable with items is made when it is asked for, for a structure
// can't hold what holds it.

std::string show_item(const Value& value) {
  return std::string{value.fields()[1].as_text()};
}

std::string json_item(const Value& value) {
  return quote(value.fields()[1].as_text());
}

/// The metadata that an item keeps; the item that a variable lacks has none.
Value item_meta(const Value& item) {
  return item.fields().size() > 2 ? item.fields()[2] : Value::null(meta_type);
}

const Function* item_method(std::string_view name) {
  static const Function methods[] = {
      method<show_item>("String"),
      method<item_meta>("Metadata"),
      method<item_meta>("Parent"),
  };
  return find_method(methods, name);
}

constexpr Field item_fields[] = {{"Key", &types::text}, {"Value", &types::text}};

constexpr Type item_type{.kind = Kind::structure,
                         .name = "dependency.NomadVarItem",
                         .fields = item_fields,
                         .method = item_method,
                         .show = show_item,
                         .json = json_item};

constexpr Field tuple_fields[] = {{"K", &types::text}, {"V", &types::text}};

constexpr Type tuple_type{
    .kind = Kind::structure, .name = "struct { K string; V string }", .fields = tuple_fields};

constexpr Type tuple_list{
    .kind = Kind::list, .name = "[]struct { K string; V string }", .element = &tuple_type};

/// A variable: what its metadata has, and its items.
constexpr Field variable_fields[]
    = {{"Namespace", &types::text},     {"Path", &types::text},     {"CreateIndex", &types::uint64},
       {"ModifyIndex", &types::uint64}, {"CreateTime", &nano_time}, {"ModifyTime", &nano_time},
       {"Items", &items_type}};

Value meta_of_variable(const Value& variable) {
  const auto& fields = variable.fields();
  return Value::structure(meta_type, {fields.begin(), fields.begin() + 6});
}

const Function* variable_method(std::string_view name) {
  static const Function methods[] = {method<meta_of_variable>("Metadata")};
  return find_method(methods, name);
}

const Type variable_type{.kind = Kind::structure,
                         .name = "*dependency.NomadVariable",
                         .fields = variable_fields,
                         .method = variable_method,
                         .is_pointer = true};

Value keys_of_items(const Value& items) {
  std::vector<Value> keys;
  for (const auto& [key, item] : items.entries())
    keys.push_back(key);
  return Value::list(std::move(keys), types::text_list);
}

Value values_of_items(const Value& items) {
  std::vector<Value> values;
  for (const auto& [key, item] : items.entries())
    values.push_back(Value::text(show_item(item)));
  return Value::list(std::move(values), types::text_list);
}

Value tuples_of_items(const Value& items) {
  std::vector<Value> tuples;
  for (const auto& [key, item] : items.entries())
    tuples.push_back(Value::structure(tuple_type, {key, Value::text(show_item(item))}));
  return Value::list(std::move(tuples), tuple_list);
}

Value metadata_of_items(const Value& items) {
  const auto& entries = items.entries();
  return entries.empty() ? Value::null(meta_type) : item_meta(entries.begin()->second);
}

Value parent_of_items(const Value& items) {
  const auto& entries = items.entries();
  if (entries.empty()) return Value::null(variable_type);
  std::vector<Value> fields = item_meta(entries.begin()->second).fields();
  fields.push_back(items);
  return Value::structure(variable_type, std::move(fields));
}

Value map_of_items(const Value& items) {
  if (items.entries().empty()) return Value::null(types::any_map);
  auto map = std::make_shared<Map>();
  for (const auto& [key, item] : items.entries())
    map->set(key, Value::text(show_item(item)));
  return Value::map(std::move(map));
}

const Function* items_method(std::string_view name) {
  static const Function methods[] = {
      method<keys_of_items>("Keys"),     method<values_of_items>("Values"),
      method<tuples_of_items>("Tuples"), method<metadata_of_items>("Metadata"),
      method<parent_of_items>("Parent"), method<map_of_items>("ItemsMap"),
  };
  return find_method(methods, name);
}

constexpr Field service_fields[]
    = {{"ID", &types::text},      {"Name", &types::text},    {"Node", &types::text},
       {"Address", &types::text}, {"Port", &types::integer}, {"Datacenter", &types::text},
       {"Tags", &tags_type},      {"JobID", &types::text},   {"AllocID", &types::text}};

constexpr Field service_name_fields[] = {{"Name", &types::text}, {"Tags", &tags_type}};

constexpr Type key_pair{.kind = Kind::structure, .name = "*dependency.KeyPair", .is_pointer = true};

}  // namespace

const Type tags_type{.kind = Kind::list,
                     .name = "dependency.ServiceTags",
                     .element = &types::text,
                     .plain = &types::text_list};
const Type service_type{.kind = Kind::structure,
                        .name = "*dependency.NomadService",
                        .fields = service_fields,
                        .is_pointer = true};
const Type service_list{
    .kind = Kind::list, .name = "[]*dependency.NomadService", .element = &service_type};
const Type service_name_type{.kind = Kind::structure,
                             .name = "*dependency.NomadServicesSnippet",
                             .fields = service_name_fields,
                             .is_pointer = true};
const Type service_name_list{.kind = Kind::list,
                             .name = "[]*dependency.NomadServicesSnippet",
                             .element = &service_name_type};
const Type items_type{.kind = Kind::map,
                      .name = "*dependency.NomadVarItems",
                      .element = &item_type,
                      .key = &types::text,
                      .method = items_method,
                      .is_pointer = true};
const Type variable_meta_list{
    .kind = Kind::list, .name = "[]*dependency.NomadVarMeta", .element = &meta_type};
const Type key_pair_list{.kind = Kind::list, .name = "[]*dependency.KeyPair", .element = &key_pair};

Value services_value(const std::vector<ServiceInstance>& services) {
  std::vector<Value> out;
  for (const ServiceInstance& service : services)
    out.push_back(Value::structure(
        service_type,
        {Value::text(service.id), Value::text(service.name), Value::text(service.node),
         Value::text(service.address), Value::integer(service.port),
         Value::text(service.datacenter), Value::texts(sorted(service.tags), tags_type),
         Value::text(service.job_id), Value::text(service.alloc_id)}));
  return Value::list(std::move(out), service_list);
}

Value service_names_value(const std::vector<ServiceName>& services) {
  std::vector<Value> out;
  for (const ServiceName& service : services)
    out.push_back(Value::structure(
        service_name_type,
        {Value::text(service.name), Value::texts(sorted(service.tags), tags_type)}));
  return Value::list(std::move(out), service_name_list);
}

Value items_value(const Variable& variable) {
  const Value meta = Value::structure(meta_type, meta_values(variable.meta));
  auto map = std::make_shared<Map>();
  for (const auto& [key, content] : variable.items)
    map->set(key, Value::structure(item_type, {Value::text(key), Value::text(content), meta}));
  return Value::map(std::move(map), items_type);
}

Value variable_metas_value(const std::vector<VariableMeta>& metas) {
  std::vector<Value> out;
  for (const VariableMeta& meta : metas)
    out.push_back(Value::structure(meta_type, meta_values(meta)));
  return Value::list(std::move(out), variable_meta_list);
}

}  // namespace nomad::templates
