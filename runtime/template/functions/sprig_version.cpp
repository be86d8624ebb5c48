// sprig: versions.
#include "runtime/base/text.hpp"
#include "runtime/template/eval/bind.hpp"
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
Value follower(const Value& before, const Version& version) {
  const std::string_view prefix = original(before).starts_with('v') ? "v" : "";
  return made_of(value_type, version, std::string{prefix} + version.text());
}

Value next_major(const Value& before) {
  return follower(before, {.major = version_of(before).major + 1});
}

Value next_minor(const Value& before) {
  const Version version = version_of(before);
  return follower(before, {.major = version.major, .minor = version.minor + 1});
}

/// Of a prerelease that is its release.
Value next_patch(const Value& before) {
  const Version version = version_of(before);
  return follower(before, {.major = version.major,
                           .minor = version.minor,
                           .patch = version.patch + (version.prerelease.empty() ? 1 : 0)});
}

Result<Value> with_prerelease(const Value& before, std::string_view prerelease) {
  Version version = version_of(before);
  version.prerelease = prerelease;
  NOMAD_TRY(check_prerelease(version.prerelease));
  return follower(before, version);
}

Result<Value> with_metadata(const Value& before, std::string_view metadata) {
  Version version = version_of(before);
  version.metadata = metadata;
  NOMAD_TRY(check_metadata(version.metadata));
  return follower(before, version);
}

template <auto part>
auto part_of(const Value& version) {
  return version_of(version).*part;
}

/// Methods of both.
const Function* value_method(std::string_view name) {
  static const Function methods[] = {
      method<part_of<&Version::major>>("Major"),
      method<part_of<&Version::minor>>("Minor"),
      method<part_of<&Version::patch>>("Patch"),
      method<part_of<&Version::prerelease>>("Prerelease"),
      method<part_of<&Version::metadata>>("Metadata"),
      method<show_version>("String"),
      method<next_major>("IncMajor"),
      method<next_minor>("IncMinor"),
      method<next_patch>("IncPatch"),
      method<with_prerelease>("SetPrerelease"),
      method<with_metadata>("SetMetadata"),
  };
  return find_method(methods, name);
}

std::int64_t compare(const Value& a, As<pointer_type> b) {
  return version_of(a).compare(version_of(*b));
}

bool is_equal(const Value& a, As<pointer_type> b) {
  return compare(a, b) == 0;
}

bool is_less(const Value& a, As<pointer_type> b) {
  return compare(a, b) < 0;
}

bool is_greater(const Value& a, As<pointer_type> b) {
  return compare(a, b) > 0;
}

const Function* pointer_method(std::string_view name) {
  static const Function methods[] = {
      method<original>("Original"), method<compare>("Compare"),        method<is_equal>("Equal"),
      method<is_less>("LessThan"),  method<is_greater>("GreaterThan"),
  };
  const Function* found = find_method(methods, name);
  return found == nullptr ? value_method(name) : found;
}

Result<Value> version(std::string_view text) {
  return made_of(pointer_type, NOMAD_TRY(Version::parse(text)), std::string{text});
}

Result<bool> compare_version(std::string_view constraint, std::string_view version) {
  return NOMAD_TRY(VersionConstraint::parse(constraint)).allows(NOMAD_TRY(Version::parse(version)));
}

}  // namespace

std::span<const Function> functions() {
  static const Function table[] = {
      bind<version>("sprig_semver"),
      bind<compare_version>("sprig_semverCompare"),
  };
  return table;
}

}  // namespace nomad::templates::sprig_version_family
