// Schedules of periodic jobs in words, and when they are due next. Five fields, as in cron; anything else is left as it is written.

interface Schedule {
  minutes: number[];
  hours: number[];
  days: number[] | null;      // of the month; null: any
  months: number[];
  weekdays: number[] | null;  // 0 is Sunday; null: any
}

const names: Record<string, string> = { "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *" };
const weekday_names = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const month_names = ["", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const said_weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/** The values that a field has; undefined if it says something else. */
function valuesOf(field: string, from: number, to: number, words: readonly string[] = []): number[] | undefined {
  const values = new Set<number>();
  const numberOf = (text: string): number => { const at = words.indexOf(text.toUpperCase()); return at >= 0 ? at : /^\d+$/.test(text) ? Number(text) : Number.NaN; };
  for (const part of field.split(",")) {
    const [range = "", step = "1"] = part.split("/");
    const [first = "", last] = range === "*" ? [String(from), String(to)] : range.split("-");
    const begin = numberOf(first);
    const end = last === undefined ? (part.includes("/") ? to : begin) : numberOf(last);
    if (!(begin >= from && end <= to && begin <= end && Number(step) >= 1)) return undefined;
    for (let value = begin; value <= end; value += Number(step)) values.add(value);
  }
  return [...values].sort((a, b) => a - b);
}

function parse(spec: string): Schedule | undefined {
  const fields = (names[spec.trim().toLowerCase()] ?? spec.trim()).split(/\s+/);
  if (fields.length !== 5) return undefined;
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = fields;
  const minutes = valuesOf(minute, 0, 59);
  const hours = valuesOf(hour, 0, 23);
  const days = valuesOf(day, 1, 31);
  const months = valuesOf(month, 1, 12, month_names);
  const weekdays = valuesOf(weekday, 0, 7, weekday_names)?.map((one) => one % 7);
  if (!minutes || !hours || !days || !months || !weekdays) return undefined;
  return { minutes, hours, days: day === "*" ? null : days, months, weekdays: weekday === "*" ? null : weekdays };
}

const two = (value: number | undefined): string => String(value ?? 0).padStart(2, "0");

/** "at 02:00 every day"; the spec itself where that would be long. */
export function inWords(spec: string): string {
  const known = parse(spec);
  if (!known || known.months.length < 12 || (known.days && known.weekdays)) return spec;
  const { minutes, hours, days, weekdays } = known;
  const on = weekdays ? `on ${weekdays.map((day) => said_weekdays[day]).join(", ")}` : days ? `on day ${days.join(", ")} of each month` : "";
  const step = minutes.length > 1 ? (minutes[1] ?? 0) - (minutes[0] ?? 0) : 60;
  const isEven = minutes[0] === 0 && minutes.length === Math.floor(60 / step) && 60 % step === 0;
  if (hours.length === 24) {
    const each = step === 1 && isEven ? "every minute" : minutes.length > 1 && isEven ? `every ${step} minutes` : minutes.length === 1 ? `at minute ${minutes[0]} of each hour` : "";
    return each === "" ? spec : [each, on].filter((word) => word !== "").join(" ");
  }
  if (minutes.length > 1 || hours.length > 4) return spec;
  return `at ${hours.map((hour) => `${two(hour)}:${two(minutes[0])}`).join(", ")} ${on || "every day"}`;
}

/** How far the clocks of a zone are ahead of UTC at a time, in milliseconds. */
function offsetOf(zone: string, at: number): number {
  const parts = new Intl.DateTimeFormat("en-GB", { timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" }).formatToParts(at);
  const of = (type: string): number => Number(parts.find((part) => part.type === type)?.value ?? 0);
  return Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second")) - Math.floor(at / 1000) * 1000;
}

const day_length = 86_400_000;
const most_days = 4 * 366;

/** The first time after `after` that it is due, by the clocks of `zone`; undefined if that is not known. */
export function nextLaunch(spec: string, zone: string, after: number): number | undefined {
  const known = parse(spec);
  if (!known) return undefined;
  const { minutes, hours, days, months, weekdays } = known;
  let offset: number;
  try {
    offset = offsetOf(zone || "UTC", after);
  } catch {
    return undefined;  // a zone that the browser does not know
  }
  const midnight = Math.floor((after + offset) / day_length) * day_length;
  for (let ahead = 0; ahead < most_days; ahead += 1) {
    const day = new Date(midnight + ahead * day_length);  // its clocks', read as UTC
    const isDay = days?.includes(day.getUTCDate()) ?? false;
    const isWeekday = weekdays?.includes(day.getUTCDay()) ?? false;
    const fits = days && weekdays ? isDay || isWeekday : (days === null || isDay) && (weekdays === null || isWeekday);
    if (!fits || !months.includes(day.getUTCMonth() + 1)) continue;
    for (const hour of hours) for (const minute of minutes) {
      const wall = day.getTime() + (hour * 60 + minute) * 60_000;
      if (ahead === 0 && wall <= after + offset) continue;
      const at = wall - offsetOf(zone || "UTC", wall - offset);
      if (at > after) return at;
    }
  }
  return undefined;
}
