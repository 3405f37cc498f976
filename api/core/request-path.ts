// Path of a request: the path of an operation with its parameters, and the query.

/** @throws TypeError if a parameter of the path is missing or would change the path */
export function requestPath(template: string, params: Readonly<Record<string, string>>, query: object = {}): string {
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined || value === '' || value === '.' || value === '..') throw new TypeError(`Expected ${name} to be non-empty`);
    return encodeURIComponent(value);
  });
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return given.length === 0
    ? path
    : `${path}?${new URLSearchParams(Object.fromEntries(given.map(([name, value]) => [name, String(value)])))}`;
}
