// sprig: versions.
#include <algorithm>

#include "runtime/base/text.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/text/version.hpp"

namespace nomad::templates::sprig_version_family {
namespace {

// A version is a structure without fields that templates see: its numbers, its prerelease, its
// metadata, and the text that it is made of. Go has pointers to versions, and versions: what is
// made of another one is not a pointer, and has fewer methods.

const Function* pointer_method(std::string_view name);
const Function* value_method(std::string_view name);

std::string_view original(const Value& value) {
  return value.fields().back().as_text();
}

Version version_of(const Value& value) {
  const auto& parts = value.fields();
  return {.major = parts[0].as_natural(),
          .minor = parts[1].as_natural(),
          .patch = parts[2].as_natural(),
          .prerelease = std::string{parts[3].as_text()},
          .metadata = std::string{parts[4].as_text()}};
}

Value made_of(const Type& type, const Version& version, std::string text) {
  return Value::structure(type, {Value::natural(version.major), Value::natural(version.minor),
                                 Value::natural(version.patch), Value::text(version.prerelease),
                                 Value::text(version.metadata), Value::text(std::move(text))});
}

std::string show_version(const Value& value) {
  return version_of(value).text();
}

std::string json_version(const Value& value) {
  return quote(show_version(value));
}

const Type pointer_type{.kind = Kind::structure,
                        .name = "*semver.Version",
                        .method = pointer_method,
                        .show = show_version,
                        .json = json_version,
                        .is_pointer = true};
const Type value_type{.kind = Kind::structure,
                      .name = "semver.Version",
                      .method = value_method,
                      .show = show_version,
                      .json = json_version};

/// The version that follows from another one keeps its "v".
Result<Value> follower(Call& call, const Version& version) {
  const std::string_view prefix = original(call[0]).starts_with('v') ? "v" : "";
  return made_of(value_type, version, std::string{prefix} + version.text());
}

Result<Value> next_major(Call& call) {
  return follower(call, {.major = version_of(call[0]).major + 1});
}

Result<Value> next_minor(Call& call) {
  const Version version = version_of(call[0]);
  return follower(call, {.major = version.major, .minor = version.minor + 1});
}

/// Of a prerelease that is its release.
Result<Value> next_patch(Call& call) {
  const Version version = version_of(call[0]);
  return follower(call, {.major = version.major,
                         .minor = version.minor,
                         .patch = version.patch + (version.prerelease.empty() ? 1 : 0)});
}

Result<Value> with_prerelease(Call& call) {
  Version version = version_of(call[0]);
  version.prerelease = call.text(1);
  NOMAD_TRY(check_prerelease(version.prerelease));
  return follower(call, version);
}

Result<Value> with_metadata(Call& call) {
  Version version = version_of(call[0]);
  version.metadata = call.text(1);
  NOMAD_TRY(check_metadata(version.metadata));
  return follower(call, version);
}

int order_of(Call& call) {
  return version_of(call[0]).compare(version_of(call[1]));
}

const std::vector<const Type*> one_text{&types::text};
const std::vector<const Type*> one_version{&pointer_type};

/// Methods of both.
const Function* value_method(std::string_view name) {
  static const Function methods[] = {
      {"Major",
       {},
       false,
       [](Call& call) -> Result<Value> { return Value::natural(version_of(call[0]).major); }},
      {"Minor",
       {},
       false,
       [](Call& call) -> Result<Value> { return Value::natural(version_of(call[0]).minor); }},
      {"Patch",
       {},
       false,
       [](Call& call) -> Result<Value> { return Value::natural(version_of(call[0]).patch); }},
      {"Prerelease",
       {},
       false,
       [](Call& call) -> Result<Value> { return Value::text(version_of(call[0]).prerelease); }},
      {"Metadata",
       {},
       false,
       [](Call& call) -> Result<Value> { return Value::text(version_of(call[0]).metadata); }},
      {"String",
       {},
       false,
       [](Call& call) -> Result<Value> { return Value::text(show_version(call[0])); }},
      {"IncMajor", {}, false, next_major},
      {"IncMinor", {}, false, next_minor},
      {"IncPatch", {}, false, next_patch},
      {"SetPrerelease", one_text, false, with_prerelease},
      {"SetMetadata", one_text, false, with_metadata},
  };
  const auto* found = std::ranges::find(methods, name, &Function::name);
  return found == std::end(methods) ? nullptr : found;
}

const Function* pointer_method(std::string_view name) {
  static const Function methods[] = {
      {"Original",
       {},
       false,
       [](Call& call) -> Result<Value> { return Value::text(std::string{original(call[0])}); }},
      {"Compare", one_version, false,
       [](Call& call) -> Result<Value> { return Value::integer(order_of(call)); }},
      {"Equal", one_version, false,
       [](Call& call) -> Result<Value> { return Value::boolean(order_of(call) == 0); }},
      {"LessThan", one_version, false,
       [](Call& call) -> Result<Value> { return Value::boolean(order_of(call) < 0); }},
      {"GreaterThan", one_version, false,
       [](Call& call) -> Result<Value> { return Value::boolean(order_of(call) > 0); }},
  };
  const auto* found = std::ranges::find(methods, name, &Function::name);
  return found == std::end(methods) ? value_method(name) : found;
}

Result<Value> version(Call& call) {
  return made_of(pointer_type, NOMAD_TRY(Version::parse(call.text(0))), std::string{call.text(0)});
}

Result<Value> compare_version(Call& call) {
  const auto constraint = NOMAD_TRY(VersionConstraint::parse(call.text(0)));
  return Value::boolean(constraint.allows(NOMAD_TRY(Version::parse(call.text(1)))));
}

}  // namespace

std::span<const Function> functions() {
  static const Function table[] = {
      {"sprig_semver", one_text, false, version},
      {"sprig_semverCompare", {&types::text, &types::text}, false, compare_version},
  };
  return table;
}

}  // namespace nomad::templates::sprig_version_family
