// Fields of each item of a list, for comparing what matters of many objects in one line.

/** @returns the value of the field of each item; of several fields, a row for each item */
export function fieldsOf<Item>(items: Iterable<Item>, ...fields: (keyof Item)[]): unknown[] {
  return Array.from(items, (item) => {
    const values = fields.map((field) => item[field]);
    return values.length === 1 ? values[0] : values;
  });
}
