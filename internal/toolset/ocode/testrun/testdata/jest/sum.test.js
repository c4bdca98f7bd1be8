const sum = require('./sum');

describe('sum', () => {
  test('adds', () => { expect(sum(1, 1)).toBe(2); });
  test('is wrong', () => {
    expect(sum(1, 1)).toBe(3);
  });
  test.skip('later', () => {});
  test.todo('some day');
});
